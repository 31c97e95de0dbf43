// Writing an index: pieces come unit by unit, always in the same order, and go out
// as blocks; what is kept until the end is the tables and the strings.

package symbol

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// A unitPieces is what a unit contributes, with numbers of its own for strings and
// calls.
type unitPieces struct {
	strings []string
	calls   []unitCall
	pieces  []unitPiece // sorted by address
}

// A unitCall is a call; its parent comes before it.
type unitCall struct {
	name, file int32 // strings
	parent     int32
	line       uint32
	entry      uint64
	depth      int
	flags      byte
}

type unitPiece struct {
	addr       uint64
	call       int32 // -1: no answer
	file       int32
	line, disc uint32
	run        bool // it follows nothing that is told here
}

// An indexWriter writes an index.
type indexWriter struct {
	file indexOutput
	out  *bufio.Writer
	off  uint64
	err  error

	runs   []run
	blocks []byte // the table

	refs    map[string]uint64
	strings [][]byte // blocks

	// Of the block at hand.
	base      uint64
	body      []byte
	room      []byte
	numFiles  int
	numPieces int
	addr      uint64 // of the last piece
	call      int32
	last      []indexCall // as the reader will have them

	// Of the unit at hand, by its numbers: those in the block, where gen says so.
	gen              int
	fileNo, callNo   []int32
	fileGen, callGen []int
	unitRefs         []uint64
	haveRef          []bool
}

// A run says which block answers from addr on.
type run struct {
	addr  uint64
	block uint32
}

func newIndexWriter(file indexOutput) *indexWriter {
	w := &indexWriter{file: file, out: bufio.NewWriterSize(file, 256<<10), refs: make(map[string]uint64)}
	w.put(make([]byte, indexHeaderSize)) // written last, when all the rest is there
	w.ref("")
	return w
}

func (w *indexWriter) put(b []byte) {
	n, err := w.out.Write(b)
	w.off += uint64(n)
	if w.err == nil {
		w.err = err
	}
}

// ref returns the reference to a string.
func (w *indexWriter) ref(s string) uint64 {
	if r, ok := w.refs[s]; ok {
		return r
	}
	if len(s) > indexMaxString {
		w.err = errors.New("a name of more than a megabyte")
		s = ""
	}
	const room = 1 << indexStringBits
	n := len(w.strings)
	if n == 0 || len(w.strings[n-1])+len(s)+binary.MaxVarintLen32 > room {
		w.strings = append(w.strings, make([]byte, 0, max(room, len(s)+binary.MaxVarintLen32)))
		n++
	}
	b := &w.strings[n-1]
	r := uint64(n-1)<<indexStringBits | uint64(len(*b))
	*b = append(binary.AppendUvarint(*b, uint64(len(s))), s...)
	w.refs[s] = r
	return r
}

// add writes a unit's pieces.
func (w *indexWriter) add(u *unitPieces) {
	w.unitRefs, w.haveRef = grow(w.unitRefs, len(u.strings)), grow(w.haveRef, len(u.strings))
	w.fileNo, w.fileGen = grow(w.fileNo, len(u.strings)), grow(w.fileGen, len(u.strings))
	w.callNo, w.callGen = grow(w.callNo, len(u.calls)), grow(w.callGen, len(u.calls))
	for i := range u.pieces {
		p := &u.pieces[i]
		const far = 1 << 40
		if w.numPieces > 0 && (len(w.body) > indexBlockSize || p.addr-w.addr >= far) {
			w.flush()
		}
		if w.numPieces == 0 {
			w.gen++
			w.base, w.addr, w.call = p.addr, p.addr, noCall
			w.runs = append(w.runs, run{p.addr, uint32(len(w.blocks) / blockEntry)})
		} else if p.run {
			w.runs = append(w.runs, run{p.addr, uint32(len(w.blocks) / blockEntry)})
		}
		w.piece(u, p)
	}
	w.flush()
}

// grow returns a slice of n zeros, in the place of s if it fits.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}

func (w *indexWriter) piece(u *unitPieces, p *unitPiece) {
	first := (p.addr - w.addr) << pieceShift
	w.addr = p.addr
	call := int32(-1)
	if p.call >= 0 {
		call = w.callOf(u, p.call)
	}
	if call != w.call {
		first |= pieceCall
	}
	var l *indexCall
	file := uint64(0)
	if call >= 0 {
		l = &w.last[call]
		if file = w.refOf(u, p.file); file != l.lastFile {
			first |= pieceFile
		}
		if p.disc != 0 {
			first |= pieceDisc
		}
	}
	w.body = binary.AppendUvarint(w.body, first)
	if call != w.call {
		w.body = binary.AppendVarint(w.body, int64(call-w.call))
		w.call = call
	}
	if l != nil {
		if file != l.lastFile {
			w.putFile(u, p.file)
		}
		if p.disc != 0 {
			w.body = binary.AppendUvarint(w.body, uint64(p.disc))
		}
		w.body = binary.AppendVarint(w.body, int64(int32(p.line-l.lastLine)))
		l.lastFile, l.lastLine = file, p.line
	}
	w.numPieces++
}

// refOf returns the reference to a string of the unit.
func (w *indexWriter) refOf(u *unitPieces, s int32) uint64 {
	if !w.haveRef[s] {
		w.haveRef[s], w.unitRefs[s] = true, w.ref(u.strings[s])
	}
	return w.unitRefs[s]
}

// putFile writes the number in the block of a file of the unit, and at its first time
// what it stands for.
func (w *indexWriter) putFile(u *unitPieces, s int32) {
	if w.fileGen[s] == w.gen {
		w.body = binary.AppendUvarint(w.body, uint64(w.fileNo[s]))
		return
	}
	w.fileGen[s], w.fileNo[s] = w.gen, int32(w.numFiles)
	w.body = binary.AppendUvarint(w.body, uint64(w.numFiles))
	w.body = binary.AppendUvarint(w.body, w.refOf(u, s))
	w.numFiles++
}

// callOf returns the number in the block of a call of the unit. At its first time it
// writes it, after those around it.
func (w *indexWriter) callOf(u *unitPieces, n int32) int32 {
	if w.callGen[n] == w.gen {
		return w.callNo[n]
	}
	c := &u.calls[n]
	parent := int32(0)
	if c.flags&callInlined != 0 {
		parent = w.callOf(u, c.parent)
	}
	no := int32(len(w.last))
	w.callGen[n], w.callNo[n] = w.gen, no
	w.last = append(w.last, indexCall{})
	w.body = append(w.body, 0, c.flags)
	w.body = binary.AppendUvarint(w.body, w.refOf(u, c.name))
	if c.flags&callInlined == 0 {
		w.body = binary.AppendVarint(w.body, int64(c.entry-w.base))
		return no
	}
	w.body = binary.AppendUvarint(w.body, uint64(no-parent))
	w.putFile(u, c.file)
	w.body = binary.AppendUvarint(w.body, uint64(c.line))
	return no
}

// flush writes the block at hand.
func (w *indexWriter) flush() {
	if w.numPieces == 0 {
		return
	}
	b := append(binary.LittleEndian.AppendUint64(w.room[:0], w.base), w.body...)
	w.room = b
	if len(b) > indexMaxBlock && w.err == nil {
		w.err = errors.New("a chain of too many inlined calls")
	}
	w.blocks = appendBlockEntry(w.blocks, w.off, b)
	w.put(b)
	w.body, w.last = w.body[:0], w.last[:0]
	w.numFiles, w.numPieces = 0, 0
}

func appendBlockEntry(table []byte, off uint64, b []byte) []byte {
	le := binary.LittleEndian
	table = le.AppendUint64(table, off)
	table = le.AppendUint32(table, uint32(len(b)))
	return le.AppendUint32(table, indexSum(b))
}

// finish writes what is left: the index is whole then, but for being on the disk.
func (w *indexWriter) finish(id [indexIDSize]byte, flags byte) error {
	root := &indexRoot{id: id, flags: flags, stringsOff: w.off}
	var table []byte
	for _, b := range w.strings {
		table = appendBlockEntry(table, w.off, b)
		w.put(b)
	}
	root.stringsLen = w.off - root.stringsOff
	slices.SortFunc(w.runs, func(a, b run) int { return cmp.Compare(a.addr, b.addr) })
	le := binary.LittleEndian
	var runs []byte
	for i, r := range w.runs {
		if i%tablePage == 0 {
			root.firsts = append(root.firsts, r.addr)
		}
		runs = le.AppendUint64(runs, r.addr)
		runs = le.AppendUint32(runs, r.block)
	}
	w.table(&root.runs, runs, runEntry)
	w.table(&root.blocks, w.blocks, blockEntry)
	w.table(&root.strings, table, blockEntry)
	b := root.encode()
	off := w.off
	w.put(b)
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	if _, err := w.file.WriteAt(encodeHeader(w.off, off, b), 0); w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *indexWriter) table(t *indexTable, b []byte, entry int) {
	t.off, t.count = w.off, uint64(len(b)/entry)
	for page := range slices.Chunk(b, tablePage*entry) {
		t.sums = append(t.sums, indexSum(page))
	}
	w.put(b)
}

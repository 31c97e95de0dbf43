// Reading an index: the parts that an answer needs, each verified when it is read.
// Damage found at any time makes the whole index count for nothing.

package symbol

import (
	"encoding/binary"
	"errors"
	"io"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zeroframe/zeroframe/tools/elf"
	"github.com/zeroframe/zeroframe/tools/lookup"
)

// An index is an open index file. Its methods may be called from several goroutines
// at once.
type index struct {
	r      io.ReaderAt
	closer io.Closer
	size   uint64
	root   *indexRoot

	damaged atomic.Bool

	// What was read of the tables and of the strings is kept.
	runPages, blockPages, stringPages []atomic.Pointer[[]byte]
	strings                           []atomic.Pointer[string]
	allStrings                        atomic.Bool // they are all there

	mu   sync.Mutex
	main indexReader // of single look-ups
}

// readIndex opens an index of size bytes. id is the identity of the ELF file that it
// has to be of.
func readIndex(r io.ReaderAt, size uint64, id [indexIDSize]byte) (*index, error) {
	x := &index{r: r, size: size}
	var h [indexHeaderSize]byte
	if n, err := r.ReadAt(h[:], 0); n < len(h) {
		return nil, errors.Join(errIndex, err)
	}
	off, n, sum, err := decodeHeader(h[:], size)
	if err != nil {
		return nil, err
	}
	b, err := x.read(off, n, sum)
	if err != nil {
		return nil, err
	}
	if x.root, err = decodeRoot(b, size); err != nil {
		return nil, err
	}
	if x.root.id != id {
		return nil, errors.New("the index is of another file")
	}
	x.runPages = make([]atomic.Pointer[[]byte], len(x.root.runs.sums))
	x.blockPages = make([]atomic.Pointer[[]byte], len(x.root.blocks.sums))
	x.stringPages = make([]atomic.Pointer[[]byte], len(x.root.strings.sums))
	x.strings = make([]atomic.Pointer[string], x.root.strings.count)
	x.main.x = x
	return x, nil
}

func (x *index) close() {
	if x.closer != nil {
		x.closer.Close()
	}
}

// read returns n bytes from off, whose checksum is sum.
func (x *index) read(off, n uint64, sum uint32) ([]byte, error) {
	return x.readInto(nil, off, n, sum)
}

func (x *index) readInto(buf []byte, off, n uint64, sum uint32) ([]byte, error) {
	if off > x.size || n > x.size-off {
		return nil, errIndex
	}
	if uint64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if m, err := x.r.ReadAt(buf, int64(off)); uint64(m) < n {
		return nil, errors.Join(errIndex, err)
	}
	if indexSum(buf) != sum {
		return nil, errIndex
	}
	return buf, nil
}

// page returns the i'th page of a table with entries of n bytes.
func (x *index) page(t *indexTable, kept []atomic.Pointer[[]byte], i, n uint64) ([]byte, error) {
	if i >= uint64(len(kept)) {
		return nil, errIndex
	}
	if b := kept[i].Load(); b != nil {
		return *b, nil
	}
	b, err := x.read(t.off+i*tablePage*n, min(tablePage, t.count-i*tablePage)*n, t.sums[i])
	if err == nil {
		kept[i].Store(&b)
	}
	return b, err
}

// entry returns place and checksum of a block.
func (x *index) entry(t *indexTable, kept []atomic.Pointer[[]byte], i uint64) (off, n uint64, sum uint32, err error) {
	if i >= t.count {
		return 0, 0, 0, errIndex
	}
	b, err := x.page(t, kept, i/tablePage, blockEntry)
	if err != nil {
		return 0, 0, 0, err
	}
	le := binary.LittleEndian
	b = b[i%tablePage*blockEntry:]
	if off, n, sum = le.Uint64(b), uint64(le.Uint32(b[8:])), le.Uint32(b[12:]); n > indexMaxBlock {
		err = errIndex
	}
	return off, n, sum, err
}

// run returns the block that answers for pc, and all addresses it answers for on its
// own.
func (x *index) run(pc uint64) (block uint64, of elf.Span, err error) {
	firsts := x.root.firsts
	p := sort.Search(len(firsts), func(i int) bool { return firsts[i] > pc }) - 1
	if p < 0 {
		return 0, of, errIndex // there is one for address 0
	}
	b, err := x.page(&x.root.runs, x.runPages, uint64(p), runEntry)
	if err != nil {
		return 0, of, err
	}
	le := binary.LittleEndian
	n := len(b) / runEntry
	i := sort.Search(n, func(i int) bool { return le.Uint64(b[i*runEntry:]) > pc }) - 1
	if i < 0 {
		return 0, of, errIndex
	}
	of = elf.Span{Low: le.Uint64(b[i*runEntry:]), High: ^uint64(0)}
	switch {
	case i+1 < n:
		of.High = le.Uint64(b[(i+1)*runEntry:])
	case p+1 < len(firsts):
		of.High = firsts[p+1]
	}
	return uint64(le.Uint32(b[i*runEntry+8:])), of, nil
}

// str returns the string that ref refers to.
func (x *index) str(ref uint64) (string, error) {
	no, at := ref>>indexStringBits, ref&(1<<indexStringBits-1)
	if no >= uint64(len(x.strings)) {
		return "", errIndex
	}
	p := x.strings[no].Load()
	if p == nil {
		off, n, sum, err := x.entry(&x.root.strings, x.stringPages, no)
		if err != nil {
			return "", err
		}
		b, err := x.read(off, n, sum)
		if err != nil {
			return "", err
		}
		text := asString(b)
		p = &text
		x.strings[no].Store(p)
	}
	return cutString(*p, at)
}

// cutString returns the string at an offset of a string block.
func cutString(block string, at uint64) (string, error) {
	if at > uint64(len(block)) {
		return "", errIndex
	}
	n, rest := uint64(0), block[at:]
	for shift := 0; ; shift += 7 {
		if rest == "" || shift > 28 {
			return "", errIndex
		}
		c := rest[0]
		rest = rest[1:]
		if n |= uint64(c&0x7f) << shift; c < 0x80 {
			break
		}
	}
	if n > uint64(len(rest)) {
		return "", errIndex
	}
	return rest[:n], nil
}

// asString returns b as a string, without a copy. b is not changed any more.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// needStrings reads all strings at once, for many look-ups.
func (x *index) needStrings() error {
	if x.allStrings.Load() {
		return nil
	}
	b := make([]byte, x.root.stringsLen)
	if n, err := x.r.ReadAt(b, int64(x.root.stringsOff)); n < len(b) {
		return errors.Join(errIndex, err)
	}
	text := asString(b)
	for no := range x.strings {
		off, n, sum, err := x.entry(&x.root.strings, x.stringPages, uint64(no))
		if err != nil {
			return err
		}
		if off -= x.root.stringsOff; off > uint64(len(b)) || n > uint64(len(b))-off || indexSum(b[off:off+n]) != sum {
			return errIndex
		}
		part := text[off : off+n]
		x.strings[no].Store(&part)
	}
	x.allStrings.Store(true)
	return nil
}

// An indexReader reads pieces, for one goroutine at a time. Look-ups of addresses that
// rise go on where the last one ended.
type indexReader struct {
	x    *index
	wide bool // nearly all blocks will be asked for: more than one is read at a time

	run    elf.Span // what was found of the last address
	block  uint64
	window []byte
	winOff uint64

	// The block that is being decoded.
	have  bool
	c     elf.Cursor
	base  uint64
	files []uint64
	calls []indexCall
	piece indexPiece // the one that was asked for
	next  indexPiece // the one after it, if there is one
	more  bool
}

// An indexCall is a call of a block.
type indexCall struct {
	name   uint64 // a string
	parent int32
	flags  byte
	file   uint64 // where its parent calls it, if it is inlined: a string
	line   uint32
	entry  uint64 // what offsets count from, if it is not inlined

	lastFile uint64 // what the file and the line of the call's next piece differ from
	lastLine uint32
}

// An indexPiece is a range of addresses with one answer; it ends where the next one
// begins.
type indexPiece struct {
	addr       uint64
	call       int32  // -1: no answer
	file       uint64 // a string
	line, disc uint32
}

// readWide is how much is read at a time if nearly all is wanted.
const readWide = 64 << 10

// fetch returns n bytes from off, whose checksum is sum.
func (r *indexReader) fetch(off, n uint64, sum uint32) ([]byte, error) {
	if off >= r.winOff && off-r.winOff <= uint64(len(r.window)) && n <= uint64(len(r.window))-(off-r.winOff) {
		b := r.window[off-r.winOff:][:n]
		if indexSum(b) != sum {
			return nil, errIndex
		}
		return b, nil
	}
	if !r.wide || n > readWide || off > r.x.size {
		r.window = r.window[:0]
		return r.x.readInto(r.window, off, n, sum)
	}
	if r.window = r.window[:0]; cap(r.window) < readWide {
		r.window = make([]byte, 0, readWide)
	}
	m, err := r.x.r.ReadAt(r.window[:min(readWide, r.x.size-off)], int64(off))
	if uint64(m) < n {
		return nil, errors.Join(errIndex, err)
	}
	r.window, r.winOff = r.window[:m], off
	if b := r.window[:n]; indexSum(b) == sum {
		return b, nil
	}
	return nil, errIndex
}

// seek makes r.piece the one that pc is in.
func (r *indexReader) seek(pc uint64) error {
	block := r.block
	if !r.have || pc < r.run.Low || pc >= r.run.High {
		var err error
		if block, r.run, err = r.x.run(pc); err != nil {
			r.have = false
			return err
		}
	}
	if !r.have || block != r.block {
		r.have, r.block = false, block
		off, n, sum, err := r.x.entry(&r.x.root.blocks, r.x.blockPages, block)
		if err != nil {
			return err
		}
		b, err := r.fetch(off, n, sum)
		if err != nil {
			return err
		}
		r.c = elf.Cursor{B: b}
		r.rewind()
	} else if pc < r.piece.addr {
		r.rewind()
	}
	for r.more && r.next.addr <= pc {
		r.piece = r.next
		r.decode()
	}
	r.have = !r.c.Bad && r.piece.call != noCall && r.piece.addr <= pc
	if !r.have {
		return errIndex
	}
	return nil
}

// rewind begins with the block anew.
func (r *indexReader) rewind() {
	r.c.At, r.c.Bad = 0, false
	r.base = r.c.Uint(8)
	r.files, r.calls = r.files[:0], r.calls[:0]
	r.next, r.more = indexPiece{addr: r.base, call: noCall}, true
	r.decode()
	r.piece = r.next
	r.decode()
}

// decode decodes the next piece, after the calls that it is the first to need.
func (r *indexReader) decode() {
	c := &r.c
	if r.more = c.At < len(c.B) && !c.Bad; !r.more {
		return
	}
	first := quick(c)
	for ; first == 0 && !c.Bad; first = quick(c) {
		r.decodeCall()
	}
	p := &r.next
	p.addr += first >> pieceShift
	if first&pieceCall != 0 {
		p.call += int32(unfold(quick(c)))
	}
	if p.call < -1 || int(p.call) >= len(r.calls) {
		c.Bad = true
	}
	if p.file, p.line, p.disc = 0, 0, 0; p.call < 0 || c.Bad {
		return
	}
	call := &r.calls[p.call]
	if first&pieceFile != 0 {
		call.lastFile = r.decodeFile()
	}
	if first&pieceDisc != 0 {
		p.disc = uint32(quick(c))
	}
	call.lastLine += uint32(unfold(quick(c)))
	p.file, p.line = call.lastFile, call.lastLine
}

// quick is uleb, quicker for numbers of one byte, which nearly all are.
func quick(c *elf.Cursor) uint64 {
	if at := c.At; at < len(c.B) && c.B[at] < 0x80 {
		c.At++
		return uint64(c.B[at])
	}
	return c.ULEB()
}

// unfold returns the signed number that n stands for: its lowest bit is the sign.
func unfold(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

func (r *indexReader) decodeCall() {
	c := &r.c
	call := indexCall{flags: byte(quick(c)), name: c.ULEB(), parent: -1}
	if call.flags&callInlined == 0 {
		call.entry = r.base + uint64(unfold(c.ULEB()))
	} else {
		back := quick(c) // so that no call is around itself
		if back == 0 || back > uint64(len(r.calls)) {
			c.Bad = true
			return
		}
		call.parent = int32(uint64(len(r.calls)) - back)
		call.file, call.line = r.decodeFile(), uint32(quick(c))
	}
	r.calls = append(r.calls, call)
}

// decodeFile decodes a file's number, and after a new one what it stands for.
func (r *indexReader) decodeFile() uint64 {
	n := quick(&r.c)
	if n == uint64(len(r.files)) {
		r.files = append(r.files, r.c.ULEB())
	}
	if n >= uint64(len(r.files)) {
		r.c.Bad = true
		return 0
	}
	return r.files[n]
}

// lookup appends the frames at pc to frames and returns the address that offsets
// count from; sure says that it is the address of a symbol. Without an error, no
// frames are an answer too.
func (r *indexReader) lookup(pc uint64, frames []lookup.Call) (_ []lookup.Call, entry uint64, sure bool, err error) {
	if err := r.seek(pc); err != nil {
		return frames, 0, false, err
	}
	p := &r.piece
	if p.call < 0 {
		return frames, 0, false, nil
	}
	fr := lookup.Call{Line: int(p.line), Discriminator: int(p.disc)}
	if fr.File, err = r.x.str(p.file); err != nil {
		return frames, 0, false, err
	}
	call := &r.calls[p.call]
	for range lookup.MaxInlined + 1 {
		if fr.Function, err = r.x.str(call.name); err != nil {
			break
		}
		if call.flags&callInlined == 0 {
			if entry = call.entry; call.flags&callSelf != 0 {
				entry = pc
			}
			return append(frames, fr), entry, call.flags&callSymbol != 0, nil
		}
		fr.Inlined = true
		frames = append(frames, fr)
		fr = lookup.Call{Line: int(call.line)}
		if fr.File, err = r.x.str(call.file); err != nil {
			break
		}
		call = &r.calls[call.parent]
	}
	return frames, 0, false, errIndex
}

// lookup returns the frames at pc. It reports false if the index turns out to be
// damaged: then it is not asked again.
func (x *index) lookup(pc uint64) (frames []lookup.Call, entry uint64, sure, ok bool) {
	if x == nil || x.damaged.Load() {
		return nil, 0, false, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	frames, entry, sure, err := x.main.lookup(pc, nil)
	if err != nil {
		x.damaged.Store(true)
		return nil, 0, false, false
	}
	return frames, entry, sure, len(frames) > 0 || !x.partial()
}

// partial reports whether what has no answer here may have one without the index.
func (x *index) partial() bool { return x.root.flags&indexPartial != 0 }

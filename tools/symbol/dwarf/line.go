// The line table of a unit: a program that, when run, puts out a row for each
// instruction where file or line changes. Rows come in sequences of rising
// addresses, one for each piece of text.
//
// Source: DWARF 5, section 6.2; DWARF 2 to 4 differ in the header.

package dwarf

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A LineTable has the rows of a unit.
type LineTable struct {
	Seqs    []Sequence // sorted by low; they do not overlap
	rows    []Row
	cut     bool // there is more of it, which has not been read
	version uint16
	dirs    []value // directories; before DWARF 5 the first is the unit's own
	Files   []LineFile
}

// A Sequence has the rows of the text from low up to high among rows[first:end].
type Sequence struct {
	elf.Span
	first, end int
	line       uint32 // of the first row, of which another one may have taken the place
}

// A Row says which line the text from Addr on is of: File counts in LineTable.Files.
type Row struct {
	Addr                  uint64
	File, Line, Disc, Col uint32
}

// A LineFile is a source file of a unit; Reader.FileName has its name.
type LineFile struct {
	name value
	dir  uint64
}

// Bounds of one table, so that a byte of it cannot take fifty of memory without end: it is damaged
// where it goes beyond.
const (
	maxRows  = 1 << 20
	maxSeqs  = 1 << 17
	maxNames = 1 << 18 // folders, or files
)

// clone returns a copy, for the buffers that a table is read into serve again.
func (t *LineTable) clone() LineTable {
	c := *t
	c.Seqs, c.rows, c.dirs, c.Files = slices.Clone(t.Seqs), slices.Clone(t.rows), slices.Clone(t.dirs),
		slices.Clone(t.Files)
	return c
}

// RowsAt returns the rows of the sequence that pc is in, or nil.
func (t *LineTable) RowsAt(pc uint64) []Row {
	i := sort.Search(len(t.Seqs), func(i int) bool { return t.Seqs[i].Low > pc }) - 1
	if i < 0 || pc >= t.Seqs[i].High {
		return nil
	}
	return t.rows[t.Seqs[i].first:t.Seqs[i].end]
}

// order sorts the sequences. In real files they do not overlap; where they do the first in
// the file has what several have, for it may be the only one read.
func (t *LineTable) order() {
	slices.SortFunc(t.Seqs, func(a, b Sequence) int { return cmp.Compare(a.Low, b.Low) })
	apart := true
	for i := 1; i < len(t.Seqs); i++ {
		apart = apart && t.Seqs[i-1].High <= t.Seqs[i].Low
	}
	if apart {
		return
	}
	slices.SortFunc(t.Seqs, func(a, b Sequence) int { return cmp.Compare(a.first, b.first) })
	spans := make([]elf.Span, len(t.Seqs))
	for i := range spans {
		spans[i] = t.Seqs[i].Span
	}
	var seqs []Sequence
	for _, p := range overlay(spans, 1) {
		s := t.Seqs[p.of]
		s.Span = p.Span
		seqs = append(seqs, s)
	}
	t.Seqs = seqs
}

// at returns the row that holds at pc.
func (t *LineTable) at(pc uint64) (Row, bool) {
	rows := t.RowsAt(pc)
	if rows == nil {
		return Row{}, false
	}
	return rows[sort.Search(len(rows), func(j int) bool { return rows[j].Addr > pc })-1], true
}

// FileName returns the path of the file numbered n in the unit's line table, ""
// if there is none.
func (r *Reader) FileName(l *Loaded, n uint32) string {
	t := &l.Lines
	if t.version < 5 {
		n-- // numbered from 1; 0 becomes what no table holds
	}
	if uint64(n) >= uint64(len(t.Files)) {
		return ""
	}
	if len(l.files) < len(t.Files) {
		l.files = append(l.files, make([]string, len(t.Files)-len(l.files))...)
	}
	if l.files[n] == "" {
		l.files[n] = r.makeFileName(l, t.Files[n])
	}
	return l.files[n]
}

func (r *Reader) makeFileName(l *Loaded, file LineFile) string {
	t, u := &l.Lines, l.u
	name := r.string(u, &r.linePages, file.name)
	if name == "" || isAbs(name) {
		return name
	}
	compDir := r.string(u, &r.infoPages, u.compDir)
	dir := ""
	if t.version < 5 {
		if file.dir > 0 && file.dir <= uint64(len(t.dirs)) {
			dir = r.string(u, &r.linePages, t.dirs[file.dir-1])
		}
	} else if file.dir < uint64(len(t.dirs)) {
		dir = r.string(u, &r.linePages, t.dirs[file.dir])
	}
	// As it was given to the compiler: "a/../b.c" is not made "b.c". In DWARF 5 the
	// first folder is that of the compilation itself, even if it is not absolute.
	if !isAbs(dir) && compDir != "" && (t.version < 5 || file.dir > 0 || dir == "") {
		if dir == "" {
			dir = compDir
		} else {
			dir = joinPath(compDir, dir)
		}
	}
	if dir == "" {
		return name
	}
	return joinPath(dir, name)
}

// isAbs reports whether a path is absolute on Unix or, where the compiler may have run, on Windows:
// with a drive's letter and a slash of either kind, or with a server (\\server\share).
func isAbs(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) ||
		len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\') && path[0]|0x20 >= 'a' &&
			path[0]|0x20 <= 'z'
}

// joinPath is dir/name, with one slash between.
func joinPath(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// lineHeader is what of a line table's header its program needs.
type lineHeader struct {
	minInst    uint64
	lineBase   int64
	lineRange  uint64
	opcodeBase uint64
	opcodeArgs []byte
	addrSize   int
}

// AllLines is after every address that a line table can have a row for.
const AllLines = ^uint64(0)

// loadLines reads a unit's line table, but no more of it than it takes to tell the
// line at the address upTo. It reports false if the table is damaged.
func (r *Reader) loadLines(t *LineTable, u *unit, upTo uint64) bool {
	return r.readLines(t, u, func(c *elf.Cursor, h *lineHeader) { t.run(c, h, r.File, upTo) })
}

// readLines reads the header of a unit's line table, and lets run run its program.
func (r *Reader) readLines(t *LineTable, u *unit, run func(*elf.Cursor, *lineHeader)) bool {
	*t = LineTable{Seqs: t.Seqs[:0], rows: t.rows[:0], dirs: t.dirs[:0], Files: t.Files[:0]}
	if !u.hasLines {
		return true
	}
	c := r.linePages.Cursor(u.stmtList, 12)
	f := format{addrSize: u.addrSize}
	length, dwarf64 := c.Length()
	start := u.stmtList + uint64(c.At)
	if f.dwarf64 = dwarf64; c.Bad || length > r.line.Size-start || !r.spend(int(length)) {
		return false
	}
	c = elf.Cursor{B: r.line.Bytes(&r.lineBuf, start, length), Base: start, Big: c.Big}
	h, ok := t.readHeader(&c, &f)
	if !ok {
		return false
	}
	run(&c, &h)
	if r.zero != nil {
		r.dropDeadLines(t, u)
	}
	t.order()
	return !c.Bad
}

// readHeader reads the header and leaves the cursor at the program.
func (t *LineTable) readHeader(c *elf.Cursor, f *format) (h lineHeader, ok bool) {
	f.version = uint16(c.Uint(2))
	t.version = f.version
	if f.version < 2 || f.version > 5 {
		return h, false
	}
	if f.version >= 5 {
		f.addrSize = int(c.Uint(1))
		c.Uint(1) // size of a segment selector
	}
	h.addrSize = f.addrSize
	headerLength := c.Offset(f.dwarf64)
	if c.Bad || headerLength > uint64(len(c.B)-c.At) {
		return h, false
	}
	program := c.At + int(headerLength)
	h.minInst = c.Uint(1)
	if f.version >= 4 {
		c.Uint(1) // operations in an instruction: 1 but for VLIW machines
	}
	c.Uint(1) // whether rows are statements by default
	h.lineBase = int64(int8(c.U8()))
	h.lineRange = c.Uint(1)
	h.opcodeBase = c.Uint(1)
	if h.lineRange == 0 || h.opcodeBase == 0 {
		return h, false
	}
	h.opcodeArgs = c.Take(h.opcodeBase - 1)
	if c.Bad {
		return h, false
	}
	// The tables of names end where the program begins.
	names := *c
	names.B = names.B[:program]
	if names.At > program {
		return h, false
	}
	if f.version >= 5 {
		for _, e := range readEntries(&names, f, nil) {
			t.dirs = append(t.dirs, e.name)
		}
		t.Files = readEntries(&names, f, t.Files)
	} else {
		for names.At < program && names.B[names.At] != 0 && len(t.dirs) < maxNames {
			t.dirs = append(t.dirs, readString(&names))
		}
		names.U8()
		for names.At < program && names.B[names.At] != 0 && len(t.Files) < maxNames {
			t.Files = append(t.Files, fileEntry(&names))
		}
	}
	c.At = program
	return h, true
}

// readString reads a string given in place.
func readString(c *elf.Cursor) value { return shapeOf(formString).read(c, 0, nil) }

// fileEntry reads an entry of the file table before DWARF 5.
func fileEntry(c *elf.Cursor) LineFile {
	file := LineFile{name: readString(c), dir: c.ULEB()}
	c.ULEB() // time of last change
	c.ULEB() // length
	return file
}

// readEntries reads a table of directories or files of DWARF 5: its format, its
// length, its entries. Each entry must take at least a byte, or its length alone
// could make it endless.
func readEntries(c *elf.Cursor, f *format, entries []LineFile) []LineFile {
	const (
		lnctPath, lnctDirectory = 1, 2
	)
	type field struct {
		content uint64
		shape
	}
	fields := make([]field, 0, 8)
	for range c.U8() {
		fields = append(fields, field{c.ULEB(), shapeOf(c.ULEB())})
	}
	n := c.ULEB()
	for ; n > 0 && !c.Bad && len(entries) < maxNames; n-- {
		var e LineFile
		start := c.At
		for _, fd := range fields {
			v := fd.read(c, 0, f)
			switch fd.content {
			case lnctPath:
				e.name = v
			case lnctDirectory:
				e.dir = v.n
			}
		}
		if c.At == start {
			c.Bad = true
			break
		}
		entries = append(entries, e)
	}
	return entries
}

// A lineRun is a line table's program as it runs.
type lineRun struct {
	*LineTable
	c     *elf.Cursor
	file  *elf.File
	upTo  uint64
	state Row
	first int    // row of the sequence
	line  uint32 // of that row
}

// emit puts the state out as a row.
func (r *lineRun) emit() {
	switch n := len(r.rows); {
	case n > r.first && r.rows[n-1].Addr == r.state.Addr:
		r.rows[n-1] = r.state // only the last row of an address holds
	case n == r.first || r.rows[n-1].Addr < r.state.Addr:
		if n == r.first {
			r.line = r.state.Line
		}
		r.rows = append(r.rows, r.state)
		r.c.Bad = r.c.Bad || len(r.rows) >= maxRows
		low := r.rows[r.first].Addr
		r.cut = r.state.Addr > r.upTo && low <= r.upTo && low > lastDead && r.file.IsText(low)
	}
	r.state.Disc = 0
}

// end ends the sequence.
func (r *lineRun) end(high uint64) {
	if n := len(r.rows); n > r.first {
		low, high := r.rows[r.first].Addr, max(r.rows[n-1].Addr, high)
		// Text that the linker dropped is at 0 or thereabouts (dead.go).
		if low < high && r.file.IsText(low) {
			r.Seqs = append(r.Seqs, Sequence{elf.Span{Low: low, High: high}, r.first, n, r.line})
			r.first = n
			r.c.Bad = r.c.Bad || len(r.Seqs) >= maxSeqs
		}
	}
	r.rows = r.rows[:r.first]
	r.state = Row{File: 1, Line: 1}
}

// extended runs an instruction that says how long it is, and reports whether it is whole.
func (r *lineRun) extended() bool {
	const endSequence, setAddress, defineFile, setDiscriminator = 1, 2, 3, 4
	c := r.c
	n := c.ULEB()
	if n == 0 || n > uint64(len(c.B)-c.At) {
		return false
	}
	next := c.At + int(n)
	switch c.U8() {
	case endSequence:
		r.end(r.state.Addr)
	case setAddress:
		if r.state.Addr = c.Uint(min(int(n-1), 8)); r.state.Addr >= ^uint64(1) {
			r.state.Addr = 1 << 62 // lld's mark of what it dropped, which must not come around to 0
		}
	case defineFile:
		r.Files = append(r.Files, fileEntry(c))
		c.Bad = c.Bad || len(r.Files) >= maxNames
	case setDiscriminator:
		r.state.Disc = uint32(c.ULEB())
	}
	if c.At > next {
		return false
	}
	c.At = next
	return true
}

// run runs the line program, until it has a row after upTo in the sequence that upTo
// is in. Each turn uses up a byte at least.
func (t *LineTable) run(c *elf.Cursor, h *lineHeader, file *elf.File, upTo uint64) {
	const copyRow, advancePC, advanceLine, setFile, setColumn, negateStmt, constAddPC,
		fixedAdvancePC = 1, 2, 3, 4, 5, 6, 8, 9
	r := lineRun{LineTable: t, c: c, file: file, upTo: upTo, state: Row{File: 1, Line: 1},
		first: len(t.rows)}
	defer r.end(0) // if it stops in a sequence, that ends with its last row
	// What each special opcode adds, since a division for each is slow.
	var addrs [256]uint64
	var lines [256]uint32
	for i := range addrs {
		n := uint64(i) - h.opcodeBase
		if uint64(i) >= h.opcodeBase {
			addrs[i], lines[i] = n/h.lineRange*h.minInst, uint32(h.lineBase+int64(n%h.lineRange))
		}
	}
	b := c.B
	for c.At < len(b) && !c.Bad && !t.cut {
		op := b[c.At]
		c.At++
		if uint64(op) >= h.opcodeBase {
			r.state.Addr += addrs[op]
			r.state.Line += lines[op]
			r.emit()
			continue
		}
		switch op {
		case setColumn: // the most frequent
			if c.At < len(b) && b[c.At] < 0x80 {
				r.state.Col = uint32(b[c.At])
				c.At++
			} else {
				r.state.Col = uint32(c.ULEB())
			}
		case negateStmt: // of no use
		case 0:
			if !r.extended() {
				return
			}
		case copyRow:
			r.emit()
		case advancePC:
			r.state.Addr += c.ULEB() * h.minInst
		case advanceLine:
			r.state.Line += uint32(c.SLEB())
		case setFile:
			r.state.File = uint32(c.ULEB())
		case constAddPC:
			r.state.Addr += addrs[255]
		case fixedAdvancePC:
			r.state.Addr += c.Uint(2)
		default:
			for range h.opcodeArgs[op-1] {
				c.ULEB()
			}
		}
	}
}

// The line table of a unit: a program that, when run, puts out a row for each
// instruction where file or line changes. Rows come in sequences of rising
// addresses, one for each piece of text.
//
// Source: DWARF 5, section 6.2; DWARF 2 to 4 differ in the header.

package symbol

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
)

type lineTable struct {
	seqs    []sequence // sorted by low; they do not overlap
	rows    []row
	cut     bool // there is more of it, which has not been read
	version uint16
	dirs    []value // directories; before DWARF 5 the first is the unit's own
	files   []lineFile
}

// A sequence has the rows of the text from low up to high among rows[first:end].
type sequence struct {
	low, high  uint64
	first, end int
}

type row struct {
	addr             uint64
	file, line, disc uint32
}

type lineFile struct {
	name value
	dir  uint64
}

// clone returns a copy, for the buffers that a table is read into serve again.
func (t *lineTable) clone() lineTable {
	c := *t
	c.seqs, c.rows, c.dirs, c.files = slices.Clone(t.seqs), slices.Clone(t.rows), slices.Clone(t.dirs), slices.Clone(t.files)
	return c
}

// rowsAt returns the rows of the sequence that pc is in, or nil.
func (t *lineTable) rowsAt(pc uint64) []row {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].low > pc }) - 1
	if i < 0 || pc >= t.seqs[i].high {
		return nil
	}
	return t.rows[t.seqs[i].first:t.seqs[i].end]
}

// order sorts the sequences. In real files they do not overlap; where they do the first in
// the file has what several have, for it may be the only one read.
func (t *lineTable) order() {
	slices.SortFunc(t.seqs, func(a, b sequence) int { return cmp.Compare(a.low, b.low) })
	for i := 1; i < len(t.seqs); i++ {
		if t.seqs[i].low < t.seqs[i-1].high {
			t.part()
			return
		}
	}
}

// part cuts sequences into pieces that do not overlap. It takes little more time than to
// sort them, however many a hostile file has around one address.
func (t *lineTable) part() {
	slices.SortFunc(t.seqs, func(a, b sequence) int { return cmp.Compare(a.first, b.first) })
	var bounds []uint64
	for _, s := range t.seqs {
		bounds = append(bounds, s.low, s.high)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	// Piece i is from bounds[i] on. free[i] is i if nobody has it yet; otherwise it leads
	// to the next that nobody has, as in a union-find.
	free, owner := make([]int, len(bounds)), make([]int, len(bounds))
	for i := range free {
		free[i], owner[i] = i, -1
	}
	for n, s := range t.seqs {
		i, _ := slices.BinarySearch(bounds, s.low)
		for end, _ := slices.BinarySearch(bounds, s.high); i < end; {
			if next := free[i]; next != i {
				free[i] = free[next]
				i = next
				continue
			}
			owner[i], free[i] = n, i+1
		}
	}
	var pieces []sequence
	for i, n := range owner {
		if n < 0 {
			continue
		}
		s := t.seqs[n]
		s.low, s.high = bounds[i], bounds[i+1]
		if k := len(pieces) - 1; k >= 0 && pieces[k].first == s.first && pieces[k].high == s.low {
			pieces[k].high = s.high
		} else {
			pieces = append(pieces, s)
		}
	}
	t.seqs = pieces
}

// at returns the row that holds at pc.
func (t *lineTable) at(pc uint64) (row, bool) {
	rows := t.rowsAt(pc)
	if rows == nil {
		return row{}, false
	}
	return rows[sort.Search(len(rows), func(j int) bool { return rows[j].addr > pc })-1], true
}

// fileName returns the path of the file numbered n in the unit's line table, ""
// if there is none.
func (r *dwarfReader) fileName(l *loadedUnit, n uint32) string {
	t := &l.lines
	if t.version < 5 {
		n-- // numbered from 1; 0 becomes what no table holds
	}
	if uint64(n) >= uint64(len(t.files)) {
		return ""
	}
	if len(l.files) < len(t.files) {
		l.files = append(l.files, make([]string, len(t.files)-len(l.files))...)
	}
	if l.files[n] == "" {
		l.files[n] = r.makeFileName(l, t.files[n])
	}
	return l.files[n]
}

func (r *dwarfReader) makeFileName(l *loadedUnit, file lineFile) string {
	t, u := &l.lines, l.u
	name := r.string(u, &r.linePages, file.name)
	if name == "" || path.IsAbs(name) {
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
	if !path.IsAbs(dir) && compDir != "" && (t.version < 5 || file.dir > 0 || dir == "") {
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

// allLines is after every address that a line table can have a row for.
const allLines = ^uint64(0)

// loadLines reads a unit's line table, but no more of it than it takes to tell the
// line at the address upTo. It reports false if the table is damaged.
func (r *dwarfReader) loadLines(t *lineTable, u *unit, upTo uint64) bool {
	*t = lineTable{seqs: t.seqs[:0], rows: t.rows[:0], dirs: t.dirs[:0], files: t.files[:0]}
	if !u.hasLines {
		return true
	}
	c := r.linePages.cursor(u.stmtList, 12)
	f := format{addrSize: u.addrSize}
	length, head := c.uint(4), uint64(4)
	if length == 0xffffffff {
		f.dwarf64 = true
		length, head = c.uint(8), 12
	}
	if c.bad || length > r.line.size-u.stmtList-head || !r.spend(int(length)) {
		return false
	}
	c = cursor{b: r.line.bytes(&r.lineBuf, u.stmtList+head, length), base: u.stmtList + head, big: c.big}
	h, ok := t.readHeader(&c, &f)
	if !ok {
		return false
	}
	t.run(&c, &h, r.file, upTo)
	t.order()
	return !c.bad
}

// readHeader reads the header and leaves the cursor at the program.
func (t *lineTable) readHeader(c *cursor, f *format) (h lineHeader, ok bool) {
	f.version = uint16(c.uint(2))
	t.version = f.version
	if f.version < 2 || f.version > 5 {
		return h, false
	}
	if f.version >= 5 {
		f.addrSize = int(c.uint(1))
		c.uint(1) // size of a segment selector
	}
	h.addrSize = f.addrSize
	headerLength := c.offset(f.dwarf64)
	if c.bad || headerLength > uint64(len(c.b)-c.at) {
		return h, false
	}
	program := c.at + int(headerLength)
	h.minInst = c.uint(1)
	if f.version >= 4 {
		c.uint(1) // operations in an instruction: 1 but for VLIW machines
	}
	c.uint(1) // whether rows are statements by default
	h.lineBase = int64(int8(c.u8()))
	h.lineRange = c.uint(1)
	h.opcodeBase = c.uint(1)
	if h.lineRange == 0 || h.opcodeBase == 0 {
		return h, false
	}
	h.opcodeArgs = c.take(h.opcodeBase - 1)
	if c.bad {
		return h, false
	}
	// The tables of names end where the program begins.
	names := *c
	names.b = names.b[:program]
	if names.at > program {
		return h, false
	}
	if f.version >= 5 {
		for _, e := range readEntries(&names, f, nil) {
			t.dirs = append(t.dirs, e.name)
		}
		t.files = readEntries(&names, f, t.files)
	} else {
		for names.at < program && names.b[names.at] != 0 {
			t.dirs = append(t.dirs, names.form(formString, 0, f))
		}
		names.u8()
		for names.at < program && names.b[names.at] != 0 {
			t.files = append(t.files, t.fileEntry(&names, f))
		}
	}
	c.at = program
	return h, true
}

// fileEntry reads an entry of the file table before DWARF 5.
func (t *lineTable) fileEntry(c *cursor, f *format) lineFile {
	file := lineFile{name: c.form(formString, 0, f), dir: c.uleb()}
	c.uleb() // time of last change
	c.uleb() // length
	return file
}

// readEntries reads a table of directories or files of DWARF 5: its format, its
// length, its entries. Each entry must take at least a byte, or its length alone
// could make it endless.
func readEntries(c *cursor, f *format, entries []lineFile) []lineFile {
	const (
		lnctPath, lnctDirectory = 1, 2
	)
	type field struct{ content, form uint64 }
	fields := make([]field, 0, 8)
	for range c.u8() {
		fields = append(fields, field{c.uleb(), c.uleb()})
	}
	n := c.uleb()
	for ; n > 0 && !c.bad; n-- {
		var e lineFile
		start := c.at
		for _, fd := range fields {
			v := c.form(fd.form, 0, f)
			switch fd.content {
			case lnctPath:
				e.name = v
			case lnctDirectory:
				e.dir = v.n
			}
		}
		if c.at == start {
			c.bad = true
			break
		}
		entries = append(entries, e)
	}
	return entries
}

// run runs the line program, until it has a row after upTo in the sequence that upTo
// is in. Each turn uses up a byte at least.
func (t *lineTable) run(c *cursor, h *lineHeader, file *File, upTo uint64) {
	const (
		copyRow, advancePC, advanceLine, setFile, setColumn, negateStmt, constAddPC, fixedAdvancePC = 1, 2, 3, 4, 5, 6, 8, 9

		endSequence, setAddress, defineFile, setDiscriminator = 1, 2, 3, 4
	)
	initial := row{file: 1, line: 1}
	state := initial
	first := len(t.rows) // of the sequence
	emit := func() {
		switch n := len(t.rows); {
		case n > first && t.rows[n-1].addr == state.addr:
			t.rows[n-1] = state // only the last row of an address holds
		case n == first || t.rows[n-1].addr < state.addr:
			t.rows = append(t.rows, state)
			t.cut = state.addr > upTo && t.rows[first].addr <= upTo && file.IsText(t.rows[first].addr)
		}
		state.disc = 0
	}
	end := func(high uint64) {
		if n := len(t.rows); n > first {
			low, high := t.rows[first].addr, max(t.rows[n-1].addr, high)
			// Text that the linker dropped is at 0 or thereabouts.
			if low < high && file.IsText(low) {
				t.seqs = append(t.seqs, sequence{low: low, high: high, first: first, end: n})
				first = n
			}
		}
		t.rows = t.rows[:first]
		state = initial
	}
	defer end(0) // if it stops in a sequence, that ends with its last row
	// What each special opcode adds, since a division for each is slow.
	var addrs [256]uint64
	var lines [256]uint32
	for i := range addrs {
		n := uint64(i) - h.opcodeBase
		if uint64(i) >= h.opcodeBase {
			addrs[i], lines[i] = n/h.lineRange*h.minInst, uint32(h.lineBase+int64(n%h.lineRange))
		}
	}
	b := c.b
	for c.at < len(b) && !c.bad && !t.cut {
		op := b[c.at]
		c.at++
		if uint64(op) >= h.opcodeBase {
			state.addr += addrs[op]
			state.line += lines[op]
			emit()
			continue
		}
		switch op {
		case setColumn: // the most frequent, and of no use
			if c.at < len(b) && b[c.at] < 0x80 {
				c.at++
			} else {
				c.uleb()
			}
		case negateStmt: // neither
		case 0:
			n := c.uleb()
			if n == 0 || n > uint64(len(c.b)-c.at) {
				return
			}
			next := c.at + int(n)
			switch c.u8() {
			case endSequence:
				end(state.addr)
			case setAddress:
				state.addr = c.uint(min(int(n-1), 8))
			case defineFile:
				t.files = append(t.files, t.fileEntry(c, &format{}))
			case setDiscriminator:
				state.disc = uint32(c.uleb())
			}
			if c.at > next {
				return
			}
			c.at = next
		case copyRow:
			emit()
		case advancePC:
			state.addr += c.uleb() * h.minInst
		case advanceLine:
			state.line += uint32(c.sleb())
		case setFile:
			state.file = uint32(c.uleb())
		case constAddPC:
			state.addr += addrs[255]
		case fixedAdvancePC:
			state.addr += c.uint(2)
		default:
			for range h.opcodeArgs[op-1] {
				c.uleb()
			}
		}
	}
}

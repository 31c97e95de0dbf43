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
)

type lineTable struct {
	seqs    []sequence
	version uint16
	dirs    []value // directories; before DWARF 5 the first is the unit's own
	files   []lineFile
}

// A sequence is the rows of the text from low up to high.
type sequence struct {
	low, high uint64
	rows      []row
}

type row struct {
	addr             uint64
	file, line, disc uint32
}

type lineFile struct {
	name value
	dir  uint64
}

// at returns the row that holds at pc.
func (t *lineTable) at(pc uint64) (row, bool) {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].low > pc })
	// Sequences do not overlap, but an empty one may begin where another does.
	for n := 0; i > 0 && n < 4; n++ {
		i--
		s := &t.seqs[i]
		if pc >= s.high {
			continue
		}
		if j := sort.Search(len(s.rows), func(j int) bool { return s.rows[j].addr > pc }); j > 0 {
			return s.rows[j-1], true
		}
	}
	return row{}, false
}

// fileName returns the path of the file numbered n in the unit's line table, ""
// if there is none.
func (d *dwarfData) fileName(u *unit, n uint32) string {
	t := &u.lines
	if t.version < 5 {
		n-- // numbered from 1; 0 becomes what no table holds
	}
	if uint64(n) >= uint64(len(t.files)) {
		return ""
	}
	file := t.files[n]
	name := d.string(u, d.line, file.name)
	if name == "" || path.IsAbs(name) {
		return name
	}
	compDir := d.string(u, d.info, u.compDir)
	dir := ""
	if t.version < 5 {
		if file.dir > 0 && file.dir <= uint64(len(t.dirs)) {
			dir = d.string(u, d.line, t.dirs[file.dir-1])
		}
	} else if file.dir < uint64(len(t.dirs)) {
		dir = d.string(u, d.line, t.dirs[file.dir])
	}
	// As it was given to the compiler: "a/../b.c" is not made "b.c".
	if !path.IsAbs(dir) && compDir != "" {
		if dir == "" {
			dir = compDir
		} else {
			dir = compDir + "/" + dir
		}
	}
	if dir == "" {
		return name
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

// loadLines reads a unit's line table.
func (d *dwarfData) loadLines(u *unit) {
	t := &u.lines
	*t = lineTable{}
	if !u.hasLines {
		return
	}
	c := d.cursor(d.line, u.stmtList)
	f := format{addrSize: u.addrSize}
	length := c.uint(4)
	if length == 0xffffffff {
		f.dwarf64 = true
		length = c.uint(8)
	}
	if c.bad || length > uint64(len(c.b)-c.at) {
		return
	}
	c.b = c.b[:c.at+int(length)]
	h, ok := t.readHeader(&c, &f)
	if !ok || !d.spend(len(c.b)-c.at) {
		return
	}
	t.run(&c, &h, d.file)
	slices.SortStableFunc(t.seqs, func(a, b sequence) int { return cmp.Compare(a.low, b.low) })
	d.cached += len(t.files)
	for i := range t.seqs {
		d.cached += len(t.seqs[i].rows)
	}
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
		t.dirs = entryNames(readEntries(&names, f))
		t.files = readEntries(&names, f)
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
func readEntries(c *cursor, f *format) []lineFile {
	const (
		lnctPath, lnctDirectory = 1, 2
	)
	type field struct{ content, form uint64 }
	fields := make([]field, 0, 8)
	for range c.u8() {
		fields = append(fields, field{c.uleb(), c.uleb()})
	}
	n := c.uleb()
	var entries []lineFile
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

func entryNames(entries []lineFile) []value {
	names := make([]value, len(entries))
	for i := range entries {
		names[i] = entries[i].name
	}
	return names
}

// run runs the line program. Each turn uses up a byte at least.
func (t *lineTable) run(c *cursor, h *lineHeader, file *File) {
	const (
		copyRow, advancePC, advanceLine, setFile, constAddPC, fixedAdvancePC = 1, 2, 3, 4, 8, 9

		endSequence, setAddress, defineFile, setDiscriminator = 1, 2, 3, 4
	)
	initial := row{file: 1, line: 1}
	state := initial
	var seq sequence
	emit := func() {
		switch n := len(seq.rows); {
		case n > 0 && seq.rows[n-1].addr == state.addr:
			seq.rows[n-1] = state // only the last row of an address holds
		case n == 0 || seq.rows[n-1].addr < state.addr:
			seq.rows = append(seq.rows, state)
		}
		state.disc = 0
	}
	advance := func(ops uint64) { state.addr += ops * h.minInst }
	for c.at < len(c.b) && !c.bad {
		op := uint64(c.u8())
		if op >= h.opcodeBase {
			op -= h.opcodeBase
			advance(op / h.lineRange)
			state.line += uint32(h.lineBase + int64(op%h.lineRange))
			emit()
			continue
		}
		switch op {
		case 0:
			n := c.uleb()
			if n == 0 || n > uint64(len(c.b)-c.at) {
				return
			}
			next := c.at + int(n)
			switch c.u8() {
			case endSequence:
				if len(seq.rows) > 0 {
					seq.low, seq.high = seq.rows[0].addr, state.addr
					// Text that the linker dropped is at 0 or thereabouts.
					if seq.low < seq.high && file.IsText(seq.low) {
						seq.rows = slices.Clip(seq.rows)
						t.seqs = append(t.seqs, seq)
					}
				}
				state, seq = initial, sequence{}
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
			advance(c.uleb())
		case advanceLine:
			state.line += uint32(c.sleb())
		case setFile:
			state.file = uint32(c.uleb())
		case constAddPC:
			advance((255 - h.opcodeBase) / h.lineRange)
		case fixedAdvancePC:
			state.addr += c.uint(2)
		default:
			for range h.opcodeArgs[op-1] {
				c.uleb()
			}
		}
	}
}

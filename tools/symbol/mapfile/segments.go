// The maps of Microsoft's linker (link /MAP, lld-link /MAP), of Borland's and of
// Delphi's give logical addresses: the number of a section of the PE file, from 1 on,
// and an offset into it. Where the sections lie, each says in its own way:
//
//	Preferred load address is 00400000
//	 Start         Length     Name                   Class
//	 0001:00000000 000037feH .text                   CODE
//	  Address         Publics by Value              Rva+Base       Lib:Object
//	 0001:00000030       ?foo@@YAHH@Z               00401030 f i   hello.obj
//
// Microsoft's has the address itself behind each name. A newer one of Borland's has
// the sections' addresses in place of their offsets in the table of segments:
//
//	 0001:00401000 00000AF3CH _TEXT                  CODE
//	  Address         Publics by Value
//	 0001:00000639       StackDumper::~StackDumper()
//
// and an older one, where the table too counts from 0, nothing at all: then the
// sections follow each other as the linker puts them, from the load address on, which is
// the linker's default unless the user knows better ([Map.Assumed]). The
// maps of 16-bit programs, where a segment's number is its paragraph, are read too.

package mapfile

import (
	"fmt"
	"strings"
)

// peAlign is the alignment of sections in a PE file that all these linkers use
// unless told otherwise; the headers before the first take up one such unit.
const peAlign = 0x1000

// peBase is the load address of a program, unless its linker was told otherwise: that of
// Microsoft's, Borland's and Delphi's for 32 bits.
const peBase = 0x400000

// peBaseAlign is the alignment of the load address (PE format, "ImageBase").
const peBaseAlign = 0x10000

// segments are the parts of a program that logical addresses name.
type segments struct {
	start map[uint16]uint64
	real  bool   // 16-bit: a number is the address in paragraphs
	base  uint64 // of a 16-bit program
}

func (s *segments) address(num, off uint64) (uint64, bool) {
	if s.real {
		return s.base + num<<4 + off, num <= 0xffff
	}
	start, ok := s.start[uint16(num)]
	return start + off, ok && num <= 0xffff
}

func (s *segments) move(delta uint64) {
	s.base += delta
	for num := range s.start {
		s.start[num] += delta
	}
}

// logicalAddress reads the logical address that a line begins with.
func logicalAddress(s string) (num, off uint64, rest string, ok bool) {
	word, rest := token(s)
	// Delphi has 16 digits for 64-bit programs, 16-bit programs have 4.
	if len(word) < 5 || word[4] != ':' || len(word) != 9 && len(word) != 13 && len(word) != 21 {
		return 0, 0, "", false
	}
	num, ok = hex(word[:4])
	off, ok2 := hex(word[5:])
	return num, off, rest, ok && ok2
}

func isSegmentHeading(s string) bool {
	switch strings.Join(strings.Fields(s), " ") {
	case "Start Length Name Class", "Start Stop Length Name Class", "Address Publics by Name",
		"Address Publics by Value":
		return true
	}
	return strings.HasPrefix(s, " Preferred load address is ") || isRvaHeading(s)
}

func isRvaHeading(s string) bool {
	return strings.Contains(s, "Publics by Value") && strings.Contains(s, "Rva+Base")
}

// segReader collects what the parts of such a map say.
type segReader struct {
	m         *Map
	num       []uint16 // of each symbol's segment
	rva       bool     // the addresses of symbols are known
	functions bool     // functions have the flag f
	preferred uint64
	table     []tableRow
	pieces    []tableRow // of Borland's detailed map
	unknown   bool       // nothing says where the segments are
	headings  bool       // there was one
}

// A tableRow is a line of the table of segments.
type tableRow struct {
	num         uint16
	off, length uint64
	name        string
	object      string
	code        bool
}

// The parts of the map.
const (
	partOther = iota
	partTable
	partPieces
	partByName
	partByValue
	partStatic
	partSkip // line numbers, exports
)

func (m *Map) readSegments(opt Options) reader {
	r := segReader{m: m}
	part := partOther
	return reader{func(s string) error {
		if p, ok := r.heading(s); ok {
			r.headings = true
			if part = p; p == partByValue {
				m.syms, r.num = m.syms[:0], r.num[:0] // the same as by name
			}
			return nil
		}
		if part == partTable && m.segs.real {
			return r.realRow(s)
		}
		if num, off, rest, ok := logicalAddress(s); ok && part != partSkip {
			return r.row(part, uint16(num), off, rest)
		}
		return nil
	}, func() (uint64, error) { return r.place(opt) }}
}

// heading reads a line that begins a part of the map.
func (r *segReader) heading(s string) (part int, ok bool) {
	if after, ok := strings.CutPrefix(strings.TrimSpace(s), "Preferred load address is "); ok {
		r.preferred, _ = hex(strings.TrimSpace(after))
		r.m.wide = len(strings.TrimSpace(after)) > 8
		return partOther, true
	}
	f := strings.Join(strings.Fields(s), " ")
	if strings.HasPrefix(f, "Address Publics by Value") {
		r.rva = r.rva || isRvaHeading(s)
		return partByValue, true
	}
	r.m.segs.real = r.m.segs.real || f == "Start Stop Length Name Class"
	if part, ok = headings[f]; !ok && hasPrefix(f, skipped) {
		return partSkip, true
	}
	return part, ok
}

// headings are the lines that begin the parts, but for that of the symbols by value; of some,
// which have nothing of use, skipped are the beginnings.
var (
	headings = map[string]int{
		"Start Length Name Class": partTable, "Start Stop Length Name Class": partTable,
		"Detailed map of segments": partPieces, "Address Publics by Name": partByName,
		"Static symbols": partStatic, "Exports": partSkip, "Imports": partSkip,
	}
	skipped = []string{"Line numbers for ", "FIXUPS:", "Bound resource files", "Program entry point",
		"entry point at"}
)

// row takes a line that begins with a logical address.
func (r *segReader) row(part int, num uint16, off uint64, rest string) error {
	word, after := token(rest)
	digits := strings.TrimRight(word, "Hh")
	length, isLength := hex(digits)
	switch part {
	case partTable:
		if !isLength || len(digits) == len(word) {
			return fmt.Errorf("%.40q is not the length of a segment", word)
		}
		name, after := token(after)
		class, _ := token(after)
		r.table = append(r.table, tableRow{num: num, off: off, length: length, name: name,
			code: isCodeClass(class, name)})
		return nil
	case partPieces:
		if !isLength {
			return nil
		}
		r.pieces = append(r.pieces, pieceOf(num, off, length, after))
		return nil
	}
	if part == partOther && r.headings {
		return nil // such as the start of a group
	}
	name := strings.TrimSpace(rest)
	if r.m.segs.real {
		for _, p := range []string{"idle ", "Abs ", "Res ", "Imp "} {
			name = strings.TrimSpace(strings.TrimPrefix(name, p))
		}
	}
	s := Symbol{Addr: off, Type: 'T'}
	if part == partStatic {
		s.Type = 't'
	}
	if r.rva {
		flags := ""
		if s.Addr, name, flags = cutRva(rest); flags == "" {
			return fmt.Errorf("%.60q has no address under Rva+Base", strings.TrimSpace(rest))
		}
		// Not a function of the compiler's: assembly or data.
		if s.mark = !strings.HasPrefix(flags, " f "); !s.mark {
			r.functions = true
		}
		r.learnStart(num, off, s.Addr)
	}
	if name == "" {
		return fmt.Errorf("no name after the address: cut short")
	}
	s.Name = name
	r.m.syms = append(r.m.syms, s)
	r.num = append(r.num, num)
	return nil
}

// pieceOf returns a row of the pieces, the rest of which is KEY=VALUE.
func pieceOf(num uint16, off, length uint64, rest string) tableRow {
	row := tableRow{num: num, off: off, length: length}
	for word := ""; rest != ""; {
		word, rest = token(rest)
		switch key, value, _ := strings.Cut(word, "="); key {
		case "C":
			row.code = isCodeClass(value, value)
		case "S":
			row.name = value
		case "M":
			row.object = value
		}
	}
	return row
}

// learnStart notes where a segment begins, of which an offset has an address.
func (r *segReader) learnStart(num uint16, off, addr uint64) {
	r.m.wide = r.m.wide || addr>>32 != 0
	if num == 0 {
		return
	}
	if r.m.segs.start == nil {
		r.m.segs.start = map[uint16]uint64{}
	}
	if _, ok := r.m.segs.start[num]; !ok {
		r.m.segs.start[num] = addr - off
	}
}

// cutRva splits NAME ADDRESS FLAGS OBJECT, of which the name may have blanks. flags
// begins with a blank; it is empty if there is no address.
func cutRva(s string) (addr uint64, name, flags string) {
	s = strings.TrimLeft(s, " ")
	for i := 0; i < len(s); {
		if s[i] != ' ' {
			i++
			continue
		}
		end := i
		word, rest := token(s[i:])
		if len(word) == 8 || len(word) == 16 {
			if v, ok := hex(word); ok {
				return v, s[:end], " " + strings.TrimLeft(rest, " ") + " "
			}
		}
		i = len(s) - len(rest)
	}
	return 0, "", ""
}

// isCodeClass reports whether a segment of this class and name has code.
func isCodeClass(class, name string) bool {
	return (strings.HasSuffix(class, "CODE") || strings.HasPrefix(name, ".text")) && !isData(name)
}

// realRow takes a line of a 16-bit program's table: start, end and length in bytes,
// such as "00000H 01A2FH 01A30H _TEXT CODE".
func (r *segReader) realRow(s string) error {
	var v [3]uint64
	if strings.TrimSpace(s) == "" {
		return nil
	}
	for i := range v {
		word, rest := token(s)
		digits, ok := strings.CutSuffix(word, "H")
		if ok {
			v[i], ok = hex(digits)
		}
		if !ok {
			return nil // a remark, such as that there is no stack
		}
		s = rest
	}
	if v[2] > 1<<24 || v[0] > 1<<24 {
		return fmt.Errorf("a segment of %#x bytes at %#x, in a 16-bit program", v[2], v[0])
	}
	name, rest := token(s)
	class, _ := token(rest)
	r.table = append(r.table, tableRow{off: v[0], length: v[2], name: name,
		code: isCodeClass(class, name)})
	return nil
}

// place turns offsets into addresses. It returns the load address they are for.
func (r *segReader) place(opt Options) (preferred uint64, err error) {
	m := r.m
	switch {
	case m.segs.real:
	case r.rva:
		preferred = r.preferred
	default:
		if preferred, err = r.findStarts(opt); err != nil {
			return 0, err
		}
	}
	r.regions()
	n := 0
	for i := range m.syms {
		s := m.syms[i]
		if num := r.num[i]; r.rva {
			if num == 0 {
				s.Type = 'A'
			}
			s.mark = s.mark && r.functions
		} else {
			var ok bool
			if s.Addr, ok = m.segs.address(uint64(num), s.Addr); !ok || num == 0 && !m.segs.real {
				continue // an absolute number
			}
		}
		m.wide = m.wide || s.Addr>>32 != 0
		m.syms[n] = s
		n++
	}
	m.syms = m.syms[:n]
	r.types()
	return preferred, nil
}

// findStarts finds the segments' addresses in the table of a Borland map, or, where that
// counts from 0, from the load address and the lengths in it.
func (r *segReader) findStarts(opt Options) (preferred uint64, err error) {
	start, end := map[uint16]uint64{}, map[uint16]uint64{}
	highest := uint16(1)
	for _, t := range r.table {
		if at, ok := start[t.num]; !ok || t.off < at {
			start[t.num] = t.off
		}
		if t.length != 0 && t.length-1 > ^t.off {
			return 0, fmt.Errorf("segment %s: %#x bytes from %#x on leave the address space", t.name,
				t.length, t.off)
		}
		end[t.num] = max(end[t.num], t.off+t.length)
		highest = max(highest, t.num)
	}
	r.m.segs.start = start
	lowest := ^uint64(0)
	for _, at := range start {
		if at != 0 {
			lowest = min(lowest, at)
		}
	}
	if lowest != ^uint64(0) {
		for num, at := range start {
			if at == 0 {
				delete(start, num) // thread-local storage, which has no address
			}
		}
		if r.preferred == 0 {
			r.preferred = lowest &^ (peBaseAlign - 1)
		}
		return r.preferred, nil
	}
	preferred = r.preferred
	switch {
	case opt.Base != nil:
		preferred = *opt.Base
	case preferred == 0:
		preferred = peBase
		table := "its table of segments counts from 0"
		if len(r.table) == 0 {
			table = "it has no table of segments"
		}
		r.m.assumed = fmt.Sprintf(
			"%s: the load address cannot be told from the map, as %s: %#x is taken, the linker's default; -base gives another", r.m.name, table, preferred)
	}
	r.unknown = true
	at := preferred + peAlign
	for num := uint32(1); num <= uint32(highest); num++ {
		if _, ok := start[uint16(num)]; !ok && num > 1 {
			continue // nothing is known of it
		}
		start[uint16(num)] = at
		at += (end[uint16(num)] + peAlign - 1) &^ (peAlign - 1)
	}
	delete(start, 0)
	return preferred, nil
}

// regions makes regions of the rows of the table, or of the detailed map's where they
// are: they are the finer ones.
func (r *segReader) regions() {
	m := r.m
	absolute := !r.rva && !r.unknown && !m.segs.real
	add := func(t *tableRow, absolute bool) {
		addr := t.off
		if !m.segs.real {
			start, ok := m.segs.start[t.num]
			if !ok {
				return
			}
			if !absolute {
				addr += start
			}
		}
		if t.length != 0 && t.length-1 <= ^addr {
			m.regions = append(m.regions, Region{Name: t.name, Object: t.object, Addr: addr, Size: t.length,
				Code: t.code})
		}
	}
	if len(r.pieces) > 0 && !m.segs.real {
		for i := range r.pieces {
			add(&r.pieces[i], false)
		}
		return
	}
	for i := range r.table {
		add(&r.table[i], absolute)
	}
}

// types tells data from code by the segments' classes.
func (r *segReader) types() {
	m := r.m
	m.sortRegions()
	for i := range m.syms {
		s := &m.syms[i]
		if reg, ok := m.Region(s.Addr); ok && !reg.Code && s.Type != 'A' {
			s.Type -= 'T' - 'D'
		}
	}
}

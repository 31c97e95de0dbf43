// DWARF is read one compile unit at a time.
//
// Damaged or hostile DWARF can make small data mean much work: by sharing one
// long list among many entries, say. So each step has an allowance of work in
// proportion to the length of the debug sections, many times what real files
// need, and gives up when that is spent.
//
// Source: DWARF 5, sections 3.1 and 7.5.1.

package symbol

import (
	"debug/elf"
	"errors"
	"sort"
)

// A unit is a compile unit.
type unit struct {
	format
	dies      uint64 // offset of its first entry in .debug_info
	end       uint64 // offset of its end there
	abbrevOff uint64

	rooted                                bool
	low                                   uint64 // DW_AT_low_pc, base of its ranges
	compDir                               value
	stmtList                              uint64
	hasLines                              bool
	plainNames                            bool // names in the source are the linker's
	addrBase, strOffsetsBase, rngListBase uint64

	dwoName    value
	dwoID      uint64 // 0 if the unit is not split
	rangesBase uint64 // of a skeleton of DWARF 4: what the split unit's offsets into .debug_ranges count from
	listBase   uint64 // of a split unit: its skeleton's rangesBase
}

func (f *File) dwarfData() *dwarfData {
	f.dwarfOnce.Do(func() { f.dwarf, f.dwarfErr = f.readDWARF() })
	return f.dwarf
}

// HasUnlinkedDWARF reports whether the file is an object file whose debug
// information is not used, because its addresses are not filled in before the
// linker does it, and the relocations of its machine are not known here.
// Context: host.
func (f *File) HasUnlinkedDWARF() bool {
	return f.typ == elf.ET_REL && !f.canRelocate() && f.section(".debug_info", ".zdebug_info") != nil
}

func (f *File) readDWARF() (*dwarfData, error) {
	if f.section(".debug_info", ".zdebug_info") == nil {
		if c := f.companion(); c != nil {
			return c.dwarfData(), c.dwarfErr
		}
		return nil, nil
	}
	if f.HasUnlinkedDWARF() {
		return nil, errors.New("an object file, its DWARF is not linked yet")
	}
	d := &dwarfData{file: f}
	if err := f.debugSections(d, ""); err != nil {
		return nil, err
	}
	if len(f.textSpans()) == 0 {
		return nil, errors.New("DWARF without any code addresses")
	}
	d.main = d.newReader()
	return d, nil
}

// debugSections finds the sections whose names end in suffix.
func (f *File) debugSections(d *dwarfData, suffix string) error {
	for _, want := range []struct {
		name string
		to   **debugSection
	}{
		{".debug_info", &d.info}, {".debug_abbrev", &d.abbrev}, {".debug_line", &d.line},
		{".debug_str", &d.str}, {".debug_line_str", &d.lineStr}, {".debug_ranges", &d.ranges},
		{".debug_rnglists", &d.rnglists}, {".debug_addr", &d.addr}, {".debug_str_offsets", &d.strOffsets},
		{".debug_aranges", &d.aranges},
	} {
		s, err := f.debugSection(want.name + suffix)
		if err != nil {
			return err
		}
		*want.to = s
		d.total += int(s.size)
	}
	return nil
}

// A dwarfReader reads DWARF for one goroutine at a time.
type dwarfReader struct {
	*dwarfData
	infoPages, abbrevPages, strPages, lineStrPages pages
	linePages, rangePages, addrPages, offsetPages  pages

	work    int // what is left of the allowance
	cached  int // items kept in units and loaded
	units   map[uint64]*unit
	loaded  map[*unit]*loadedUnit
	abbrevs [8]abbrevTable

	nextAbbrevs int // the table that is replaced next

	splits map[*dwarfData]*dwarfReader
	sup    *dwarfReader // of the supplementary file, when it is needed

	current *unit // whose bytes infoBuf has
	info    []byte
	infoBuf []byte
	lineBuf []byte
	spans   []span     // of the last entry whose ranges were read
	scratch loadedUnit // what is read, before what is kept of it is copied

	tree   funcTree // of the function looked up last
	treeOf *loadedUnit
	treeAt uint64
	names  map[nameKey]string
}

// A span is a piece of text.
type span struct{ low, high uint64 }

func (d *dwarfData) newReader() *dwarfReader {
	r := &dwarfReader{dwarfData: d, units: make(map[uint64]*unit), loaded: make(map[*unit]*loadedUnit), names: make(map[nameKey]string)}
	for _, p := range []struct {
		pages *pages
		sec   *debugSection
	}{
		{&r.infoPages, d.info}, {&r.abbrevPages, d.abbrev}, {&r.strPages, d.str}, {&r.lineStrPages, d.lineStr},
		{&r.linePages, d.line}, {&r.addrPages, d.addr}, {&r.offsetPages, d.strOffsets},
	} {
		p.pages.sec = p.sec
	}
	r.rangePages.sec = d.ranges
	return r
}

// allow sets the allowance for one step.
func (r *dwarfReader) allow() { r.work = 16*r.total + 1<<16 }

// spend takes n from the allowance and reports whether there was as much.
func (r *dwarfReader) spend(n int) bool {
	r.work -= n
	return r.work >= 0
}

// unit reads the header of the unit at offset base, or returns nil.
func (r *dwarfReader) unit(base uint64) *unit {
	const (
		utType, utSkeleton, utSplitCompile, utSplitType = 2, 4, 5, 6
	)
	if u, ok := r.units[base]; ok {
		return u
	}
	c := r.infoPages.cursor(base, 48)
	u := &unit{format: format{base: base}}
	length := c.uint(4)
	if length == 0xffffffff {
		u.dwarf64 = true
		length = c.uint(8)
	}
	if c.bad || length > r.dwarfData.info.size-base-uint64(c.at) {
		return nil
	}
	u.end = base + uint64(c.at) + length
	u.version = uint16(c.uint(2))
	unitType := uint64(0)
	if u.version >= 5 {
		unitType = c.uint(1)
		u.addrSize = int(c.uint(1))
		u.abbrevOff = c.offset(u.dwarf64)
	} else {
		u.abbrevOff = c.offset(u.dwarf64)
		u.addrSize = int(c.uint(1))
	}
	switch unitType {
	case utSkeleton, utSplitCompile:
		u.dwoID = c.uint(8)
	case utType, utSplitType:
		c.skip(8)
		c.offset(u.dwarf64)
	}
	u.dies = base + uint64(c.at)
	if c.bad || u.dies > u.end || u.version < 2 || u.version > 5 || u.addrSize != 2 && u.addrSize != 4 && u.addrSize != 8 {
		u = nil
	}
	if len(r.units) > 1<<16 { // more than that are not needed again
		clear(r.units)
		clear(r.loaded)
		r.treeOf, r.current = nil, nil
	}
	r.units[base] = u
	return u
}

// root reads a unit's first entry and keeps of it what the rest needs.
func (r *dwarfReader) root(u *unit) (e die, ok bool) {
	off, ok := u.dies, false
	r.infoPages.parse(off, func(c *cursor) {
		if rest := u.end - off; uint64(len(c.b)) > rest {
			c.b = c.b[:rest]
		}
		e = die{}
		code := c.uleb()
		a := r.oneAbbrev(u, code)
		if a == nil || !r.spend(1+len(a.attrs)) {
			return
		}
		r.readAttrs(c, u, a, &e)
		ok = !c.bad
	})
	if !ok {
		return e, false
	}
	if !u.rooted {
		u.rooted = true
		u.compDir = e.compDir
		switch e.language.n {
		case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x16, 0x8001: // C of all years, Go, assembly
			u.plainNames = true
		}
		u.stmtList, u.hasLines = e.stmtList.n, e.stmtList.kind != valueNone
		u.dwoName = e.dwoName
		if e.dwoID.kind == valueConst {
			u.dwoID = e.dwoID.n
		}
		u.rangesBase = e.rangesBase.n
		// Without a base attribute the lists begin after the section's header.
		header := uint64(8)
		if u.dwarf64 {
			header = 16
		}
		u.addrBase, u.strOffsetsBase, u.rngListBase = header, header, header+4
		if u.version < 5 { // those sections had no headers when they were an extension
			u.addrBase, u.strOffsetsBase = 0, 0
		}
		for _, b := range []struct {
			v  value
			to *uint64
		}{{e.addrBase, &u.addrBase}, {e.strOffsetsBase, &u.strOffsetsBase}, {e.rngListBase, &u.rngListBase}} {
			if b.v.kind != valueNone {
				*b.to = b.v.n
			}
		}
		u.low, _ = r.address(u, e.low)
	}
	return e, true
}

// unitOf returns the unit that holds the entry at offset off, or nil.
func (r *dwarfReader) unitOf(off uint64) *unit {
	bases := r.allUnits()
	i := sort.Search(len(bases), func(i int) bool { return bases[i] > off })
	if i == 0 {
		return nil
	}
	if u := r.unit(bases[i-1]); u != nil && off >= u.dies && off < u.end {
		return u
	}
	return nil
}

// address resolves a value that stands for an address.
func (r *dwarfReader) address(u *unit, v value) (uint64, bool) {
	switch v.kind {
	case valueAddr:
		return v.n, true
	case valueAddrx:
		return r.addrx(u, v.n)
	}
	return 0, false
}

func (r *dwarfReader) addrx(u *unit, i uint64) (uint64, bool) {
	if i > r.addr.size {
		return 0, false
	}
	c := r.addrPages.cursor(u.addrBase+i*uint64(u.addrSize), uint64(u.addrSize))
	a := c.uint(u.addrSize)
	return a, !c.bad
}

// string resolves a value that stands for a string; in is where a string given in
// place lies.
func (r *dwarfReader) string(u *unit, in *pages, v value) string {
	switch v.kind {
	case valueStrpSup:
		if s := r.supplement(); s != nil {
			return string(s.strPages.cstring(v.n))
		}
	case valueString:
		return string(in.cstring(v.n))
	case valueStrp:
		return string(r.strPages.cstring(v.n))
	case valueLineStrp:
		return string(r.lineStrPages.cstring(v.n))
	case valueStrx:
		size := uint64(4)
		if u.dwarf64 {
			size = 8
		}
		if v.n > r.strOffsets.size {
			return ""
		}
		c := r.offsetPages.cursor(u.strOffsetsBase+v.n*size, size)
		if off := c.offset(u.dwarf64); !c.bad {
			return string(r.strPages.cstring(off))
		}
	}
	return ""
}

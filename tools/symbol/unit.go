// DWARF is read one compile unit at a time. When it is first needed only the
// units' headers and first entries are read, to learn which unit has which
// addresses; a unit's functions and lines are read when an address of it is
// looked up.
//
// Damaged or hostile DWARF can make small data mean much work: by sharing one
// long list among many entries, say. So each step has an allowance of work in
// proportion to the length of the debug sections, many times what real files
// need, and gives up when that is spent.
//
// Source: DWARF 5, sections 3.1, 7.5.1 and 2.17 (code addresses and ranges).

package symbol

import (
	"cmp"
	"debug/elf"
	"errors"
	"slices"
	"sort"
)

// dwarfData is the debug sections and what has been read of them.
type dwarfData struct {
	file                               *File
	info, abbrev, line, str, lineStr   []byte
	ranges, rnglists, addr, strOffsets []byte
	units                              []*unit // in the order of .debug_info
	index                              []unitRange
	abbrevs                            map[uint64]abbrevTable
	total                              int // bytes of all the sections
	work                               int // what is left of the allowance
	cached                             int // items kept in abbrevs and units
}

// A unit is a compile unit.
type unit struct {
	format
	dies      uint64 // offset of its first entry in .debug_info
	end       uint64 // offset of its end there
	abbrevOff uint64

	rootOnce                              bool
	low                                   uint64 // DW_AT_low_pc, base of its ranges
	compDir                               value
	stmtList                              uint64
	hasLines                              bool
	plainNames                            bool // names in the source are the linker's
	addrBase, strOffsetsBase, rngListBase uint64

	loaded bool
	funcs  funcTable
	lines  lineTable
}

// A unitRange is a piece of text that belongs to a unit.
type unitRange struct {
	low, high uint64
	maxHigh   uint64 // the highest high of this range and all before it
	unit      *unit
}

func (f *File) dwarfData() *dwarfData {
	f.dwarfOnce.Do(func() { f.dwarf, f.dwarfErr = f.readDWARF() })
	return f.dwarf
}

// HasUnlinkedDWARF reports whether the file is an object file whose debug
// information is not used, because its addresses are not filled in before the
// linker does it. Context: host.
func (f *File) HasUnlinkedDWARF() bool {
	return f.typ == elf.ET_REL && (f.section(".debug_info") != nil || f.section(".zdebug_info") != nil)
}

func (f *File) readDWARF() (*dwarfData, error) {
	if f.section(".debug_info") == nil {
		if f.section(".zdebug_info") != nil {
			return nil, errors.New("DWARF in the old .zdebug format")
		}
		return nil, nil
	}
	if f.typ == elf.ET_REL {
		return nil, errors.New("an object file, its DWARF is not linked yet")
	}
	d := &dwarfData{file: f, abbrevs: make(map[uint64]abbrevTable)}
	for _, want := range []struct {
		name string
		data *[]byte
	}{
		{".debug_info", &d.info}, {".debug_abbrev", &d.abbrev}, {".debug_line", &d.line},
		{".debug_str", &d.str}, {".debug_line_str", &d.lineStr}, {".debug_ranges", &d.ranges},
		{".debug_rnglists", &d.rnglists}, {".debug_addr", &d.addr}, {".debug_str_offsets", &d.strOffsets},
	} {
		if s := f.section(want.name); s != nil {
			b, err := f.data(s)
			if err != nil {
				return nil, err
			}
			*want.data = b
			d.total += len(b)
		}
	}
	d.allow()
	d.readUnits()
	if len(d.index) == 0 {
		return nil, errors.New("DWARF without any code addresses")
	}
	return d, nil
}

// allow sets the allowance for one step.
func (d *dwarfData) allow() { d.work = 16*d.total + 1<<16 }

// spend takes n from the allowance and reports whether there was as much.
func (d *dwarfData) spend(n int) bool {
	d.work -= n
	return d.work >= 0
}

func (d *dwarfData) cursor(b []byte, at uint64) cursor {
	c := cursor{b: b, order: d.file.order}
	if at > uint64(len(b)) {
		c.bad, at = true, uint64(len(b))
	}
	c.at = int(at)
	return c
}

// readUnits reads the units' headers and indexes them by address.
func (d *dwarfData) readUnits() {
	const (
		utType, utSkeleton, utSplitCompile, utSplitType = 2, 4, 5, 6
	)
	for at := uint64(0); at < uint64(len(d.info)); {
		c := d.cursor(d.info, at)
		u := &unit{format: format{base: at}}
		length := c.uint(4)
		if length == 0xffffffff {
			u.dwarf64 = true
			length = c.uint(8)
		}
		if c.bad || length > uint64(len(d.info)-c.at) {
			break
		}
		u.end = uint64(c.at) + length
		at = u.end
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
			c.take(8)
		case utType, utSplitType:
			c.take(8)
			c.offset(u.dwarf64)
		}
		if c.bad || uint64(c.at) > u.end || u.version < 2 || u.version > 5 || u.addrSize != 4 && u.addrSize != 8 {
			continue // one unit less; the next may be well
		}
		u.dies = uint64(c.at)
		d.units = append(d.units, u)
	}
	for _, u := range d.units {
		root, ok := d.root(u)
		if !ok {
			continue
		}
		d.eachRange(u, &root, func(low, high uint64) {
			d.index = append(d.index, unitRange{low: low, high: high, unit: u})
		})
		if d.work < 0 {
			break
		}
	}
	slices.SortFunc(d.index, func(a, b unitRange) int { return cmp.Compare(a.low, b.low) })
	for i := range d.index {
		d.index[i].maxHigh = d.index[i].high
		if i > 0 {
			d.index[i].maxHigh = max(d.index[i].high, d.index[i-1].maxHigh)
		}
	}
}

// root reads a unit's first entry and keeps of it what the rest needs.
func (d *dwarfData) root(u *unit) (die, bool) {
	e, ok := d.dieAt(u, u.dies)
	if !ok {
		return e, false
	}
	if !u.rootOnce {
		u.rootOnce = true
		u.compDir = e.compDir
		switch e.language.n {
		case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x16, 0x8001: // C of all years, Go, assembly
			u.plainNames = true
		}
		u.stmtList, u.hasLines = e.stmtList.n, e.stmtList.kind != valueNone
		// Without a base attribute the lists begin after the section's header.
		header := uint64(8)
		if u.dwarf64 {
			header = 16
		}
		u.addrBase, u.strOffsetsBase, u.rngListBase = header, header, header+4
		for _, b := range []struct {
			v  value
			to *uint64
		}{{e.addrBase, &u.addrBase}, {e.strOffsetsBase, &u.strOffsetsBase}, {e.rngListBase, &u.rngListBase}} {
			if b.v.kind != valueNone {
				*b.to = b.v.n
			}
		}
		u.low, _ = d.address(u, e.low)
	}
	return e, true
}

// unitsAt returns the units that have code at pc, the one with the shortest
// piece of text first. Real files have one.
func (d *dwarfData) unitsAt(pc uint64) []*unit {
	var hits []unitRange
	i := sort.Search(len(d.index), func(i int) bool { return d.index[i].low > pc })
	for i--; i >= 0 && d.index[i].maxHigh > pc && len(hits) < 4; i-- {
		if pc < d.index[i].high {
			hits = append(hits, d.index[i])
		}
	}
	slices.SortStableFunc(hits, func(a, b unitRange) int { return cmp.Compare(a.high-a.low, b.high-b.low) })
	units := make([]*unit, 0, len(hits))
	for _, h := range hits {
		if !slices.Contains(units, h.unit) {
			units = append(units, h.unit)
		}
	}
	return units
}

// unitOf returns the unit that holds the entry at offset off, or nil.
func (d *dwarfData) unitOf(off uint64) *unit {
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].end > off })
	if i < len(d.units) && off >= d.units[i].dies {
		return d.units[i]
	}
	return nil
}

// address resolves a value that stands for an address.
func (d *dwarfData) address(u *unit, v value) (uint64, bool) {
	switch v.kind {
	case valueAddr:
		return v.n, true
	case valueAddrx:
		return d.addrx(u, v.n)
	}
	return 0, false
}

func (d *dwarfData) addrx(u *unit, i uint64) (uint64, bool) {
	if i > uint64(len(d.addr)) {
		return 0, false
	}
	c := d.cursor(d.addr, u.addrBase+i*uint64(u.addrSize))
	a := c.uint(u.addrSize)
	return a, !c.bad
}

// string resolves a value that stands for a string; section is where a string
// given in place lies.
func (d *dwarfData) string(u *unit, section []byte, v value) string {
	switch v.kind {
	case valueString:
		return string(cstring(section, v.n))
	case valueStrp:
		return string(cstring(d.str, v.n))
	case valueLineStrp:
		return string(cstring(d.lineStr, v.n))
	case valueStrx:
		size := uint64(4)
		if u.dwarf64 {
			size = 8
		}
		if v.n > uint64(len(d.strOffsets)) {
			return ""
		}
		c := d.cursor(d.strOffsets, u.strOffsetsBase+v.n*size)
		if off := c.offset(u.dwarf64); !c.bad {
			return string(cstring(d.str, off))
		}
	}
	return ""
}

// eachRange calls add for each piece of text an entry covers. What the linker
// dropped is at 0 or at the end of the address space, in no text, and left out.
func (d *dwarfData) eachRange(u *unit, e *die, add func(low, high uint64)) {
	keep := func(low, high uint64) {
		if low < high && d.file.IsText(low) {
			add(low, high)
		}
	}
	switch e.ranges.kind {
	case valueNone:
		low, ok := d.address(u, e.low)
		if !ok {
			return
		}
		if e.high.kind == valueConst {
			keep(low, low+e.high.n)
		} else if high, ok := d.address(u, e.high); ok {
			keep(low, high)
		}
	case valueRnglistx:
		size := uint64(4)
		if u.dwarf64 {
			size = 8
		}
		if e.ranges.n > uint64(len(d.rnglists)) {
			return
		}
		c := d.cursor(d.rnglists, u.rngListBase+e.ranges.n*size)
		off := c.offset(u.dwarf64)
		if !c.bad {
			d.rangeList5(u, u.rngListBase+off, keep)
		}
	default:
		if u.version >= 5 {
			d.rangeList5(u, e.ranges.n, keep)
		} else {
			d.rangeList4(u, e.ranges.n, keep)
		}
	}
}

// rangeList4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (d *dwarfData) rangeList4(u *unit, off uint64, keep func(low, high uint64)) {
	c := d.cursor(d.ranges, off)
	base, last := u.low, ^uint64(0)>>(64-8*u.addrSize)
	for d.spend(2) {
		low, high := c.uint(u.addrSize), c.uint(u.addrSize)
		switch {
		case c.bad || low == 0 && high == 0:
			return
		case low == last:
			base = high
		default:
			keep(base+low, base+high)
		}
	}
}

// rangeList5 reads a list of .debug_rnglists (DWARF 5, section 7.25).
func (d *dwarfData) rangeList5(u *unit, off uint64, keep func(low, high uint64)) {
	const (
		endOfList, baseAddressx, startxEndx, startxLength, offsetPair, baseAddress, startEnd, startLength = 0, 1, 2, 3, 4, 5, 6, 7
	)
	c := d.cursor(d.rnglists, off)
	base := u.low
	for d.spend(2) {
		kind := c.u8()
		if c.bad || kind == endOfList {
			return
		}
		ok1, ok2 := true, true
		var low, high uint64
		switch kind {
		case baseAddressx:
			base, _ = d.addrx(u, c.uleb())
			continue
		case baseAddress:
			base = c.uint(u.addrSize)
			continue
		case startxEndx:
			low, ok1 = d.addrx(u, c.uleb())
			high, ok2 = d.addrx(u, c.uleb())
		case startxLength:
			low, ok1 = d.addrx(u, c.uleb())
			high = low + c.uleb()
		case offsetPair:
			low = base + c.uleb()
			high = base + c.uleb()
		case startEnd:
			low, high = c.uint(u.addrSize), c.uint(u.addrSize)
		case startLength:
			low = c.uint(u.addrSize)
			high = low + c.uleb()
		default:
			return
		}
		if c.bad {
			return
		}
		if ok1 && ok2 {
			keep(low, high)
		}
	}
}

// DWARF is read one compile unit at a time. Which unit has an address is told by
// .debug_aranges or, where that says nothing, by the units' own first entries.
//
// Damaged or hostile DWARF can make small data mean much work: by sharing one
// long list among many entries, say. So each step has an allowance of work in
// proportion to the length of the debug sections, many times what real files
// need, and gives up when that is spent.
//
// Source: DWARF 5, sections 3.1, 6.1.2, 7.5.1 and 2.17 (code addresses and ranges).

package symbol

import (
	"cmp"
	"debug/elf"
	"errors"
	"slices"
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
	for _, want := range []struct {
		name string
		to   **debugSection
	}{
		{".debug_info", &d.info}, {".debug_abbrev", &d.abbrev}, {".debug_line", &d.line},
		{".debug_str", &d.str}, {".debug_line_str", &d.lineStr}, {".debug_ranges", &d.ranges},
		{".debug_rnglists", &d.rnglists}, {".debug_addr", &d.addr}, {".debug_str_offsets", &d.strOffsets},
		{".debug_aranges", &d.aranges},
	} {
		s, err := f.debugSection(want.name)
		if err != nil {
			return nil, err
		}
		*want.to = s
		d.total += int(s.size)
	}
	if len(f.textSpans()) == 0 {
		return nil, errors.New("DWARF without any code addresses")
	}
	d.main = d.newReader()
	return d, nil
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

	current *unit // whose bytes infoBuf has
	info    []byte
	infoBuf []byte
	lineBuf []byte
	spans   []span // of the last entry whose ranges were read
	scratch loadedUnit

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
		c.skip(8)
	case utType, utSplitType:
		c.skip(8)
		c.offset(u.dwarf64)
	}
	u.dies = base + uint64(c.at)
	if c.bad || u.dies > u.end || u.version < 2 || u.version > 5 || u.addrSize != 4 && u.addrSize != 8 {
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

// A unitIndex tells which unit has an address.
type unitIndex struct {
	ranges []unitRange // sorted by low
	state  int         // 0: nothing, 1: what .debug_aranges says, 2: all
	asked  int         // look-ups since ranges grew, before they are sorted
}

// A unitRange is a piece of text that belongs to the unit at offset base.
type unitRange struct {
	low, high uint64
	maxHigh   uint64 // the highest high of this range and all before it
	base      uint64
}

// unitsAt appends to units, which is empty, the offsets of the units that have code
// at pc, the one with the shortest piece of text first. Real files have one. d.mu is
// held.
func (d *dwarfData) unitsAt(pc uint64, units []uint64) []uint64 {
	if !d.file.IsText(pc) {
		return units
	}
	for {
		if d.index.state > 0 {
			if units = d.index.at(pc, units); len(units) > 0 || d.index.state == 2 {
				return units
			}
		}
		if d.index.state == 0 {
			d.readAranges()
		} else {
			d.readRoots()
		}
		d.index.asked = 0
		d.index.state++
	}
}

func (x *unitIndex) at(pc uint64, units []uint64) []uint64 {
	var hits [4]unitRange
	n := 0
	if x.asked++; x.asked <= 2 { // to sort them takes longer
		for i := range x.ranges {
			if r := &x.ranges[i]; r.low <= pc && pc < r.high && n < len(hits) {
				hits[n] = *r
				n++
			}
		}
	} else if x.asked == 3 {
		x.sort()
	}
	i := -1
	if x.asked > 2 {
		i = sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].low > pc }) - 1
	}
	for ; i >= 0 && x.ranges[i].maxHigh > pc && n < len(hits); i-- {
		if pc < x.ranges[i].high {
			hits[n] = x.ranges[i]
			n++
		}
	}
	if n > 1 {
		slices.SortStableFunc(hits[:n], func(a, b unitRange) int { return cmp.Compare(a.high-a.low, b.high-b.low) })
	}
	for _, h := range hits[:n] {
		if !slices.Contains(units, h.base) {
			units = append(units, h.base)
		}
	}
	return units
}

func (x *unitIndex) sort() {
	slices.SortFunc(x.ranges, func(a, b unitRange) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.base, b.base))
	})
	for i := range x.ranges {
		x.ranges[i].maxHigh = x.ranges[i].high
		if i > 0 {
			x.ranges[i].maxHigh = max(x.ranges[i].high, x.ranges[i-1].maxHigh)
		}
	}
}

// readAranges reads .debug_aranges (DWARF 5, section 6.1.2).
func (d *dwarfData) readAranges() {
	var buf []byte
	b := d.aranges.bytes(&buf, 0, d.aranges.size)
	c := cursor{b: b, big: d.file.big()}
	for c.at < len(b) && !c.bad {
		start := c.at
		length, dwarf64 := c.uint(4), false
		if length == 0xffffffff {
			length, dwarf64 = c.uint(8), true
		}
		if c.bad || length > uint64(len(b)-c.at) {
			return
		}
		end := c.at + int(length)
		c.uint(2) // version
		base := c.offset(dwarf64)
		size, selector := int(c.uint(1)), c.uint(1)
		if c.bad || size != 4 && size != 8 || selector != 0 || base >= d.info.size {
			c = cursor{b: b, at: end, big: c.big}
			continue
		}
		// The pairs are aligned to their own size.
		if over := (c.at - start) % (2 * size); over != 0 {
			c.skip(uint64(2*size - over))
		}
		for c.at+2*size <= end {
			low, n := c.uint(size), c.uint(size)
			if low == 0 && n == 0 {
				break
			}
			if n != 0 && low+n > low && d.file.IsText(low) {
				d.index.ranges = append(d.index.ranges, unitRange{low: low, high: low + n, base: base})
			}
		}
		c.at, c.bad = end, false
	}
}

// readRoots reads the first entries of the units that .debug_aranges is silent
// about.
func (d *dwarfData) readRoots() {
	known := make(map[uint64]bool)
	for i := range d.index.ranges {
		known[d.index.ranges[i].base] = true
	}
	r := d.main
	r.allow()
	for _, base := range d.allUnits() {
		if known[base] || r.work < 0 {
			continue
		}
		u := r.unit(base)
		if u == nil {
			continue // one unit less; the next may be well
		}
		e, ok := r.root(u)
		if !ok || e.tag == tagPartialUnit || e.tag == tagTypeUnit {
			continue
		}
		spans := r.ranges(u, &e)
		for _, s := range spans {
			d.index.ranges = append(d.index.ranges, unitRange{low: s.low, high: s.high, base: base})
		}
		if len(spans) == 0 && e.ranges.kind == valueNone && u.low == 0 {
			// A unit without ranges: its functions tell.
			for _, fn := range r.load(u).funcs {
				d.index.ranges = append(d.index.ranges, unitRange{low: fn.low, high: fn.high, base: base})
			}
		}
	}
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

// ranges returns the pieces of text an entry covers, until it is called again. What
// the linker dropped is at 0 or at the end of the address space, in no text, and
// left out.
func (r *dwarfReader) ranges(u *unit, e *die) []span {
	r.spans = r.spans[:0]
	switch e.ranges.kind {
	case valueNone:
		low, ok := r.address(u, e.low)
		if !ok {
			break
		}
		high, ok := low+e.high.n, true
		if e.high.kind != valueConst {
			high, ok = r.address(u, e.high)
		}
		if ok {
			r.keep(low, high)
		}
	case valueRnglistx:
		size := uint64(4)
		if u.dwarf64 {
			size = 8
		}
		if e.ranges.n > r.rnglists.size {
			break
		}
		r.rangePages.use(r.rnglists)
		c := r.rangePages.cursor(u.rngListBase+e.ranges.n*size, size)
		if off := c.offset(u.dwarf64); !c.bad {
			r.rangeList5(u, u.rngListBase+off)
		}
	default:
		if u.version >= 5 {
			r.rangePages.use(r.rnglists)
			r.rangeList5(u, e.ranges.n)
		} else {
			r.rangePages.use(r.dwarfData.ranges)
			r.rangeList4(u, e.ranges.n)
		}
	}
	return r.spans
}

// use makes p read another section.
func (p *pages) use(sec *debugSection) {
	if p.sec != sec {
		*p = pages{sec: sec, tmp: p.tmp}
	}
}

func (r *dwarfReader) keep(low, high uint64) {
	if low < high && r.file.IsText(low) {
		r.spans = append(r.spans, span{low, high})
	}
}

// rangeList4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (r *dwarfReader) rangeList4(u *unit, off uint64) {
	r.rangePages.parse(off, func(c *cursor) {
		r.spans = r.spans[:0]
		base, last := u.low, ^uint64(0)>>(64-8*u.addrSize)
		for r.spend(2) {
			low, high := c.uint(u.addrSize), c.uint(u.addrSize)
			switch {
			case c.bad || low == 0 && high == 0:
				return
			case low == last:
				base = high
			default:
				r.keep(base+low, base+high)
			}
		}
	})
}

// rangeList5 reads a list of .debug_rnglists (DWARF 5, section 7.25).
func (r *dwarfReader) rangeList5(u *unit, off uint64) {
	const (
		endOfList, baseAddressx, startxEndx, startxLength, offsetPair, baseAddress, startEnd, startLength = 0, 1, 2, 3, 4, 5, 6, 7
	)
	r.rangePages.parse(off, func(c *cursor) {
		r.spans = r.spans[:0]
		base := u.low
		for r.spend(2) {
			kind := c.u8()
			if c.bad || kind == endOfList {
				return
			}
			ok1, ok2 := true, true
			var low, high uint64
			switch kind {
			case baseAddressx:
				base, _ = r.addrx(u, c.uleb())
				continue
			case baseAddress:
				base = c.uint(u.addrSize)
				continue
			case startxEndx:
				low, ok1 = r.addrx(u, c.uleb())
				high, ok2 = r.addrx(u, c.uleb())
			case startxLength:
				low, ok1 = r.addrx(u, c.uleb())
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
				r.keep(low, high)
			}
		}
	})
}

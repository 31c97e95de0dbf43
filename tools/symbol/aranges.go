// Which unit has an address: what .debug_aranges says and, where that says nothing,
// the units' own first entries.
//
// Source: DWARF 5, section 6.1.2.

package symbol

import (
	"cmp"
	"slices"
	"sort"
)

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
	d.index.ranges = make([]unitRange, 0, len(b)/16) // there are hardly fewer
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
			for _, fn := range r.load(u, allLines).funcs {
				d.index.ranges = append(d.index.ranges, unitRange{low: fn.low, high: fn.high, base: base})
			}
		}
	}
}

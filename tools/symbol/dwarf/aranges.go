// Which unit has an address: what .debug_aranges says and, where that says nothing,
// the units' own first entries.
//
// Source: DWARF 5, section 6.1.2.

package dwarf

import (
	"cmp"
	"slices"
	"sort"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// A unitIndex tells which unit has an address.
type unitIndex struct {
	ranges []unitRange
	read   bool // all units' ranges are there
	sorted bool // and sorted
	asked  int  // look-ups before
}

// A unitRange is a piece of text that belongs to the unit at offset base.
type unitRange struct {
	elf.Span
	base uint64
}

const (
	// maxUnits bounds the units that are asked about one address.
	maxUnits = 4
	// askedUnsorted is for how many look-ups it takes longer to sort the ranges than to
	// go through them.
	askedUnsorted = 2
)

// unitsAt appends to units, which is empty, the offsets of the units that have code at pc,
// in link order. Several have the code of an inline function of which the linker kept one
// copy: then the first has the say, as in LLVM. What .debug_aranges is silent about counts
// like the rest. d.mu is held.
func (d *Data) unitsAt(pc uint64, units []uint64) []uint64 {
	if !d.File.IsText(pc) {
		return units
	}
	d.readRanges()
	x := &d.index
	if x.asked++; x.asked > askedUnsorted {
		x.sort()
		return x.at(pc, units)
	}
	for i := range x.ranges {
		r := &x.ranges[i]
		if pc < r.Low || pc >= r.High {
			continue
		}
		if at, has := slices.BinarySearch(units, r.base); !has && at < maxUnits {
			units = slices.Insert(units[:min(len(units), maxUnits-1)], at, r.base)
		}
	}
	return units
}

// UnitsOf calls each with the units of n addresses, as unitsAt has them.
func (d *Data) UnitsOf(n int, pc func(i int) uint64, each func(i int, units []uint64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > 8 {
		d.index.asked = max(d.index.asked, askedUnsorted)
	}
	var buf [maxUnits]uint64
	for i := range n {
		each(i, d.unitsAt(pc(i), buf[:0]))
	}
}

// at is unitsAt once the ranges are sorted.
func (x *unitIndex) at(pc uint64, units []uint64) []uint64 {
	end := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].Low > pc })
	if end == 0 || pc >= x.ranges[end-1].High {
		return units
	}
	first := end - 1
	for first > 0 && x.ranges[first-1].Low == x.ranges[first].Low {
		first--
	}
	for _, r := range x.ranges[first:end] {
		units = append(units, r.base)
	}
	return units
}

// sort sorts the ranges and cuts them, so that two of them are the same piece of text, in
// link order, or do not overlap.
func (x *unitIndex) sort() {
	if x.sorted {
		return
	}
	x.sorted = true
	slices.SortFunc(x.ranges, func(a, b unitRange) int {
		return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.Low, b.Low))
	})
	// Those of one unit are joined where they touch.
	n := 0
	for _, r := range x.ranges {
		if n > 0 && x.ranges[n-1].base == r.base && r.Low <= x.ranges[n-1].High {
			x.ranges[n-1].High = max(x.ranges[n-1].High, r.High)
			continue
		}
		x.ranges[n] = r
		n++
	}
	spans := make([]elf.Span, n)
	for i := range spans {
		spans[i] = x.ranges[i].Span
	}
	pieces := overlay(spans, maxUnits)
	cut := make([]unitRange, len(pieces))
	for i, p := range pieces {
		cut[i] = unitRange{p.Span, x.ranges[p.of].base}
	}
	x.ranges = cut
}

// readRanges reads the ranges of all units.
func (d *Data) readRanges() {
	if d.index.read {
		return
	}
	d.index.read = true
	d.readRoots(d.readAranges())
	d.dropDead()
}

// readAranges reads .debug_aranges (DWARF 5, section 6.1.2). It returns the offsets of the
// units that have a table there, rising.
func (d *Data) readAranges() (told []uint64) {
	var buf []byte
	b := d.aranges.Bytes(&buf, 0, d.aranges.Size)
	d.index.ranges = make([]unitRange, 0, len(b)/16) // there are hardly fewer
	c := elf.Cursor{B: b, Big: d.File.Big()}
	for c.At < len(b) && !c.Bad {
		start := c.At
		length, dwarf64 := c.Length()
		if c.Bad || length > uint64(len(b)-c.At) {
			break
		}
		end := c.At + int(length)
		c.Uint(2) // version
		base := c.Offset(dwarf64)
		size, selector := int(c.Uint(1)), c.Uint(1)
		if c.Bad || size != 4 && size != 8 || selector != 0 || base >= d.info.Size {
			c = elf.Cursor{B: b, At: end, Big: c.Big}
			continue
		}
		told = append(told, base)
		// The pairs are aligned to their own size.
		if over := (c.At - start) % (2 * size); over != 0 {
			c.Skip(uint64(2*size - over))
		}
		for c.At+2*size <= end {
			low, n := c.Uint(size), c.Uint(size)
			if low == 0 && n == 0 {
				break
			}
			if n != 0 && low+n > low && d.File.IsText(low) {
				d.index.ranges = append(d.index.ranges, unitRange{elf.Span{Low: low, High: low + n}, base})
			}
		}
		c.At, c.Bad = end, false
	}
	slices.Sort(told)
	return told
}

// readRoots reads the first entries of the units that .debug_aranges is silent
// about. A unit with an empty table there has no code, as LLVM has it: many of libc's
// units have one.
func (d *Data) readRoots(told []uint64) {
	r := d.main
	r.Allow()
	for _, base := range d.allUnitsWith(told) {
		if _, has := slices.BinarySearch(told, base); has || r.work < 0 {
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
			d.index.ranges = append(d.index.ranges, unitRange{s, base})
		}
		if len(spans) == 0 && e.at[atRanges].kind == valueNone && u.low <= lastDead {
			// A unit without ranges: its functions tell.
			for _, fn := range r.load(u, AllLines).Funcs {
				d.index.ranges = append(d.index.ranges, unitRange{elf.Span{Low: fn.Low, High: fn.High}, base})
			}
		}
	}
}

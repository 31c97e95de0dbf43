// What is wrong with debug information: all of it is read as look-ups read it.

package dwarf

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// unitLength returns the length in bytes of the unit at base, with its header.
func (d *Data) unitLength(base uint64) (n uint64, ok bool) {
	p := elf.NewPages(d.info)
	c := p.Cursor(base, 12)
	n = 4 + c.Uint(4)
	if n == 4+0xffffffff {
		n = 12 + c.Uint(8)
	}
	return n, !c.Bad
}

// A dwarfChecker reports what is wrong with a section.
type dwarfChecker struct {
	report func(section, format string, a ...any)
}

// Check looks at each unit's header, shapes, entries and lines.
func (d *Data) Check(report func(section, format string, a ...any)) {
	c := dwarfChecker{report}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.zero != nil {
		d.readRanges()
	}
	r := d.NewReader()
	r.Allow()
	bases := r.allUnits()
	end := uint64(0)
	for _, base := range bases {
		u := r.unit(base)
		if u == nil {
			c.report(".debug_info",
				"the header of the unit at %#x is damaged, or of a version of DWARF that is not known", base)
			length, _ := r.unitLength(base)
			end = base + length
			continue
		}
		end = u.end
		c.unit(r, u)
		delete(r.units, base)
		if r.work < 0 {
			c.report(".debug_info", "at %#x: takes more work than it can be worth", base)
			return
		}
	}
	if end != d.info.Size {
		c.report(".debug_info", "the unit at %#x goes beyond the end", end)
	}
}

func (c *dwarfChecker) unit(r *Reader, u *unit) {
	if u.abbrevOff >= r.abbrev.Size {
		c.report(".debug_abbrev", "has %d bytes; the unit at %#x has its shapes at %#x", r.abbrev.Size,
			u.base, u.abbrevOff)
		return
	}
	abbrevs := r.abbrevTable(u)
	e, ok := r.root(u)
	if !ok {
		c.report(".debug_abbrev",
			"the first entry of the unit at %#x of .debug_info does not fit a shape", u.base)
		return
	}
	if u.hasLines {
		if !r.loadLines(&LineTable{}, u, AllLines) {
			c.report(".debug_line", "the table at %#x is damaged", u.stmtList)
		}
	}
	c.ranges(r, u, &e)
	in := elf.Cursor{B: r.unitBytes(u), Base: u.dies, Big: r.File.Big()}
	if !r.spend(len(in.B)) {
		return
	}
	for depth := 0; in.At < len(in.B); {
		at := u.dies + uint64(in.At)
		code := in.ULEB()
		if code == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		a := abbrevs.get(code)
		if a == nil {
			c.report(".debug_abbrev", "has no shape %d at %#x, which the entry at %#x of .debug_info is of",
				code, u.abbrevOff, at)
			return
		}
		if a.located {
			e = die{}
			r.readAttrs(&in, u, a, &e)
			if !in.Bad {
				c.ranges(r, u, &e)
			}
		} else {
			r.skipAttrs(&in, u, a)
		}
		if in.Bad {
			c.report(".debug_info", "the entry at %#x goes beyond its unit", at)
			return
		}
		if a.children {
			depth++
		}
		if depth == 0 {
			return
		}
	}
}

// ranges looks where an entry's list of pieces of text is.
func (c *dwarfChecker) ranges(r *Reader, u *unit, e *die) {
	switch {
	case e.at[atRanges].kind == valueNone:
	case u.version < 5:
		if u.listBase+e.at[atRanges].n >= r.Data.ranges.Size {
			c.report(".debug_ranges", "has %d bytes; an entry of the unit at %#x has its list at %#x",
				r.Data.ranges.Size, u.base, e.at[atRanges].n)
		}
	case e.at[atRanges].kind != valueRnglistx:
		if e.at[atRanges].n >= r.rnglists.Size {
			c.report(".debug_rnglists", "has %d bytes; an entry of the unit at %#x has its list at %#x",
				r.rnglists.Size, u.base, e.at[atRanges].n)
		}
	default:
		if size := r.rnglists.Size; u.rngListBase >= size || e.at[atRanges].n >= size {
			c.report(".debug_rnglists", "has %d bytes; an entry of the unit at %#x has list %d from %#x on",
				size, u.base, e.at[atRanges].n, u.rngListBase)
		}
	}
}

// The pieces of text that an entry covers: one, or a list in a section of its own.
//
// Source: DWARF 5, section 2.17 (code addresses and ranges).

package symbol

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
			r.rangeList4(u, u.listBase+e.ranges.n)
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

// The pieces of text that an entry covers: one, or a list in a section of its own.
//
// Source: DWARF 5, section 2.17 (code addresses and ranges).

package dwarf

import (
	"cmp"
	"slices"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// ranges returns the pieces of text an entry covers, until it is called again. What
// the linker dropped is at 0 or at the end of the address space, in no text, and
// left out; where text is at 0, dead.go tells.
func (r *Reader) ranges(u *unit, e *die) []elf.Span {
	r.spans = r.spans[:0]
	switch e.at[atRanges].kind {
	case valueNone:
		low, ok := r.address(u, e.at[atLow])
		if !ok {
			break
		}
		high, ok := low+e.at[atHigh].n, true
		if e.at[atHigh].kind != valueConst {
			high, ok = r.address(u, e.at[atHigh])
		}
		if ok {
			r.keep(low, high)
		}
	case valueRnglistx:
		size := uint64(u.offsetSize())
		if e.at[atRanges].n > r.rnglists.Size {
			break
		}
		r.rangePages.Use(r.rnglists)
		c := r.rangePages.Cursor(u.rngListBase+e.at[atRanges].n*size, size)
		if off := c.Offset(u.dwarf64); !c.Bad {
			r.rangeList5(u, u.rngListBase+off)
		}
	default:
		if u.version >= 5 {
			r.rangePages.Use(r.rnglists)
			r.rangeList5(u, e.at[atRanges].n)
		} else {
			r.rangePages.Use(r.Data.ranges)
			r.rangeList4(u, e.at[atRanges].n)
		}
	}
	return r.spans
}

func (r *Reader) keep(low, high uint64) {
	if low < high && r.File.IsText(low) {
		r.spans = append(r.spans, elf.Span{Low: low, High: high})
	}
}

// lastAddr is the last address, which like the one before it stands for what the linker dropped.
func (u *unit) lastAddr() uint64 { return ^uint64(0) >> (64 - 8*u.addrSize) }

// rangeList4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (r *Reader) rangeList4(u *unit, off uint64) {
	r.rangePages.Parse(off, func(c *elf.Cursor) {
		r.spans = r.spans[:0]
		base, last := u.low, u.lastAddr()
		for r.spend(2) {
			low, high := c.Uint(u.addrSize), c.Uint(u.addrSize)
			switch {
			case c.Bad || low == 0 && high == 0:
				return
			case low == last:
				base = high
			case base < last-1 && base != lastDead:
				r.keep(base+low, base+high)
			}
		}
	})
}

// rangeList5 reads a list of .debug_rnglists (DWARF 5, section 7.25).
func (r *Reader) rangeList5(u *unit, off uint64) {
	const (
		endOfList, baseAddressx, startxEndx, startxLength = 0, 1, 2, 3
		offsetPair, baseAddress, startEnd, startLength    = 4, 5, 6, 7
	)
	r.rangePages.Parse(off, func(c *elf.Cursor) {
		r.spans = r.spans[:0]
		base := u.low
		for r.spend(2) {
			kind := c.U8()
			if c.Bad || kind == endOfList {
				return
			}
			ok1, ok2 := true, true
			var low, high uint64
			switch kind {
			case baseAddressx:
				base, _ = r.addrx(u, c.ULEB())
				continue
			case baseAddress:
				base = c.Uint(u.addrSize)
				continue
			case startxEndx:
				low, ok1 = r.addrx(u, c.ULEB())
				high, ok2 = r.addrx(u, c.ULEB())
			case startxLength:
				low, ok1 = r.addrx(u, c.ULEB())
				high = low + c.ULEB()
			case offsetPair:
				low = base + c.ULEB()
				high = base + c.ULEB()
				ok1 = base < u.lastAddr()-1 && base != lastDead
			case startEnd:
				low, high = c.Uint(u.addrSize), c.Uint(u.addrSize)
			case startLength:
				low = c.Uint(u.addrSize)
				high = low + c.ULEB()
			default:
				return
			}
			if c.Bad {
				return
			}
			if ok1 && ok2 {
				r.keep(low, high)
			}
		}
	})
}

// A piece is a part of the of'th of some spans.
type piece struct {
	elf.Span
	of int
}

// share gives each piece between two bounds to the first spans that are there, by their numbers
// from 1 on: it has depth places.
func share(spans []elf.Span, bounds []uint64, depth int) []int {
	// next[i] is i if a place is free; otherwise it leads to the next piece of which one is, as in a
	// union-find.
	next, owners := make([]int, len(bounds)), make([]int, depth*len(bounds))
	for i := range next {
		next[i] = i
	}
	for n, s := range spans {
		i, _ := slices.BinarySearch(bounds, s.Low)
		for end, _ := slices.BinarySearch(bounds, s.High); i < end; {
			if to := next[i]; to != i {
				next[i] = next[to]
				i = to
				continue
			}
			own := owners[depth*i:][:depth]
			free := slices.Index(own, 0)
			if own[free] = n + 1; free == depth-1 {
				next[i] = i + 1
			}
			i++
		}
	}
	return owners
}

// overlay cuts spans into pieces, sorted, of which two are the same piece of text or do not
// overlap. Where spans overlap the first depth of them have a piece each, in their order;
// the others have none. It takes little more time than to sort them, however many a hostile
// file has around one address.
func overlay(spans []elf.Span, depth int) []piece {
	pieces := make([]piece, len(spans))
	for i, s := range spans {
		pieces[i] = piece{s, i}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.Low, b.Low) })
	apart := true
	for i := 1; i < len(pieces); i++ {
		apart = apart && pieces[i-1].High <= pieces[i].Low
	}
	if apart {
		return pieces
	}
	bounds := make([]uint64, 0, 2*len(spans))
	for _, s := range spans {
		bounds = append(bounds, s.Low, s.High)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	owners := share(spans, bounds, depth) // piece i is from bounds[i] on
	pieces = pieces[:0]
	for i := range bounds[:len(bounds)-1] {
		for k, n := range owners[depth*i:][:depth] {
			if n == 0 {
				break
			}
			p := piece{elf.Span{Low: bounds[i], High: bounds[i+1]}, n - 1}
			// Alone, it goes on where its span was cut for nothing.
			last := len(pieces) - 1
			if k == 0 && last >= 0 && pieces[last].of == p.of && pieces[last].High == p.Low &&
				(depth == 1 || owners[depth*i+1] == 0 && owners[depth*(i-1)+1] == 0) {
				pieces[last].High = p.High
			} else {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

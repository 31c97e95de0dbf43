package mem

import "github.com/zeroframe/zeroframe/arch"

// The dirty bits of the page tables: which pages have been written to. If a stack's page was all
// paint when its bit was cleared, and has not been written to since, it still is.

// SetDirty sets or clears the dirty bit of the 4 KiB page that holds addr. A larger page's bit does
// not change. Early and kernel context.
func SetDirty(addr uintptr, dirty bool) {
	e := lastEntry(addr)
	switch {
	case e == 0:
	case dirty:
		*at(e) |= arch.PTEDirty
	default:
		*at(e) &^= arch.PTEDirty
		arch.FlushPage(addr) // the CPU sets the bit again only when it looks the page up
	}
}

// NextDirty returns the lowest address from lo on, below hi, in a page that has been written to
// since its bit was cleared, or hi. A page whose state is unknown counts as written. Early and
// kernel context.
func NextDirty(lo, hi uintptr) uintptr {
	for lo < hi {
		e := lastEntry(lo)
		if e == 0 {
			return lo
		}
		// As far as this table reaches.
		end := min(lo&^(arch.PageSize2-1)+arch.PageSize2, hi)
		for ; lo < end; lo, e = pageDown(lo)+arch.PageSize, e+8 {
			if *at(e)&(arch.PTEDirty|arch.PTEPresent) != arch.PTEPresent {
				return lo
			}
		}
	}
	return hi
}

// A Watch is a range of memory whose dirty bits are read often: it remembers where in the page
// tables they are. The pages must stay mapped.
type Watch struct{ lo, entry uintptr }

// Begin makes the watch cover lo <= address < hi, multiples of the page size. Early context.
func (w *Watch) Begin(lo, hi uintptr) {
	w.lo, w.entry = lo, lastEntry(lo)
	if lo&^(arch.PageSize2-1) != (hi-1)&^(arch.PageSize2-1) {
		w.entry = 0 // in two tables
	}
}

// NextDirty is the function NextDirty with lo at the start of the range. Early and kernel context.
func (w *Watch) NextDirty(hi uintptr) uintptr {
	if w.entry == 0 {
		return NextDirty(w.lo, hi)
	}
	for p, e := w.lo, w.entry; p < hi; p, e = p+arch.PageSize, e+8 {
		if *at(e)&(arch.PTEDirty|arch.PTEPresent) != arch.PTEPresent {
			return p
		}
	}
	return hi
}

// lastEntry returns the address of the page table entry for addr, or 0 if there is none.
func lastEntry(addr uintptr) uintptr {
	t := root
	for level := 3; ; level-- {
		s := slot(t, addr, level)
		if level == 0 {
			return s
		}
		e := *at(s)
		if e&arch.PTEPresent == 0 || e&arch.PTELarge != 0 {
			return 0
		}
		t = uintptr(e & arch.PTEAddr)
	}
}

package mm

import "github.com/zeroframe/zeroframe/arch/amd64"

// The dirty bits of the page tables: which pages have been written to. A stack's page
// that was all paint when its bit was cleared, and has not been written to since, still is.

// SetDirty sets the dirty bit of the 4 KiB page that holds addr, or clears it. A larger
// page's is left as it is. Early and kernel context.
func SetDirty(addr uintptr, dirty bool) {
	e := lastEntry(addr)
	switch {
	case e == 0:
	case dirty:
		*at(e) |= amd64.PTEDirty
	default:
		*at(e) &^= amd64.PTEDirty
		amd64.Invlpg(addr) // the CPU sets the bit again only when it looks the page up
	}
}

// NextDirty returns the lowest address from lo on, below hi, in a page that has been
// written to since its bit was cleared, or hi. A page of which that is not known counts. Early and
// kernel context.
func NextDirty(lo, hi uintptr) uintptr {
	for lo < hi {
		e := lastEntry(lo)
		if e == 0 {
			return lo
		}
		// As far as this table reaches.
		end := min(lo&^(amd64.PageSize2-1)+amd64.PageSize2, hi)
		for ; lo < end; lo, e = pageDown(lo)+amd64.PageSize, e+8 {
			if *at(e)&(amd64.PTEDirty|amd64.PTEPresent) != amd64.PTEPresent {
				return lo
			}
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
		if e&amd64.PTEPresent == 0 || e&amd64.PTELarge != 0 {
			return 0
		}
		t = uintptr(e & amd64.PTEAddr)
	}
}

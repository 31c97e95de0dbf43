package mem

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// RAM that is set aside for data that must survive a reset. Firmware and loaders take memory from
// both ends: BIOS and images from the lower one, SeaBIOS, OVMF and GRUB's heap from the upper one.
// So it lies in the middle of the largest range.

// AsideAlign divides the address of RAM that is set aside, so that the next boot looks only at its
// multiples.
const AsideAlign = 2 << 20

// SetAside takes size bytes of RAM in one piece, which nobody else gets, and returns their address,
// or 0. If wanted is not 0 and free, it takes the bytes there. Their contents are arbitrary. Early
// context, after [Init] and before Release.
func SetAside(regions []boot.Region, size, wanted uintptr) uintptr {
	size = pageUp(size)
	var r frameRange
	for i := 0; i < numRAM && i < len(ram); i++ {
		if m := &ram[i]; wanted != 0 && m.lo <= wanted && wanted < m.hi {
			r = *m
			break
		} else if m.hi-m.lo > r.hi-r.lo {
			r = *m
		}
	}
	if numKept == len(kept)-1 || released || r.hi-r.lo < size {
		return 0
	}
	if wanted != 0 && wanted <= r.hi-size && Unclaimed(wanted, wanted+size, regions) {
		return take(wanted, size)
	}
	middle := (r.lo + (r.hi-r.lo-size)/2) &^ (AsideAlign - 1)
	for at := middle; at <= r.hi-size; at += AsideAlign {
		if at >= r.lo && Unclaimed(at, at+size, regions) {
			return take(at, size)
		}
	}
	for at := middle; at >= r.lo+AsideAlign; at -= AsideAlign {
		if Unclaimed(at, at+size, regions) {
			return take(at, size)
		}
	}
	return 0
}

// aside is the range that was set aside. Set once at boot.
var aside frameRange

//go:noinline
func take(lo, size uintptr) uintptr {
	aside = frameRange{lo, lo + size}
	kept[numKept] = aside
	numKept++
	SpareFrom(lo)
	return lo
}

// useNear makes frames come first from the RAM next to the range that was set aside: above it, then
// below. So the program's memory is far from both ends, too.
func useNear() {
	assertLocked()
	if aside.hi == 0 {
		return
	}
	last := numRanges - 1 // the last one is used first
	for i := last; i >= 0; i-- {
		if ranges[i].lo == aside.hi {
			ranges[i], ranges[last] = ranges[last], ranges[i]
		}
	}
	for i := last - 1; i >= 0; i-- {
		if ranges[i].hi == aside.lo {
			ranges[i], ranges[last-1] = ranges[last-1], ranges[i]
		}
	}
}

// SpareFrom keeps tables, and the memory that Contiguous takes, below an address, if that is above
// them. Early context, after Init and before Release.
func SpareFrom(lo uintptr) {
	assertLocked()
	if lo > nextPage {
		endPage = min(endPage, lo)
	}
}

// Unclaimed reports whether lo <= address < hi is free: not the image or the room after it that it
// may grow into, not kept, and RAM throughout. Early context.
func Unclaimed(lo, hi uintptr, regions []boot.Region) bool {
	if lo < lowMemory {
		return false
	}
	if numSegments > 0 && lo < nextPage+tableRoom && hi > pageDown(segments[0].Lo)-arch.PageSize {
		return false
	}
	for i := range kept[:numKept] {
		if k := &kept[i]; lo < k.hi && k.lo < hi {
			return false
		}
	}
	for i := range regions {
		if r := &regions[i]; !r.Usable && uint64(lo) < r.Hi && r.Lo < uint64(hi) {
			return false
		}
	}
	return true
}

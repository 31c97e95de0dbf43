package mem

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// RAM that is set aside for what is to be there still after a reset. Firmware and loaders take memory from
// both ends: BIOS and images from the lower one, SeaBIOS, OVMF and GRUB's heap from the upper one. So it lies
// in the middle of the largest range.

// AsideAlign is what the address of RAM that is set aside is a multiple of: who looks for it looks there.
const AsideAlign = 2 << 20

// SetAside takes size bytes of RAM in one piece, which nobody else gets, and returns their address, or 0: at an address that
// is wanted, if that can be; 0 is none. They hold anything. Early context, after [Init] and before Release.
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

// aside is what has been set aside. Set once at boot.
var aside frameRange

//go:noinline
func take(lo, size uintptr) uintptr {
	aside = frameRange{lo, lo + size}
	kept[numKept] = aside
	numKept++
	SpareFrom(lo)
	return lo
}

// useNear has frames come from the RAM next to what is set aside first: above it, then below. What
// the program has is far from both ends then, too.
func useNear() {
	assertLocked()
	if aside.hi == 0 {
		return
	}
	last := numRanges - 1 // which is used first
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

// SpareFrom has tables, and what Contiguous takes, stay below an address, if it is above them. Early
// context, after Init and before Release.
func SpareFrom(lo uintptr) {
	assertLocked()
	if lo > nextPage {
		endPage = min(endPage, lo)
	}
}

// Unclaimed reports whether nothing lays claim to lo <= address < hi: the image, what is behind it and the room that it may
// grow into, what is kept, and what is not RAM. Early context.
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

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
// is wanted, if that can be; 0 is none. They hold anything. Early context, after [KeepRAM] and before Release.
func SetAside(regions []boot.Region, size, wanted uintptr) uintptr {
	size = pageUp(size)
	for i := range ram[:numRAM] {
		if r := ram[i]; wanted != 0 && r.lo <= wanted && wanted < r.hi && size <= r.hi-wanted && numKept < len(kept)-1 && Unclaimed(wanted, wanted+size, regions) {
			return take(wanted, size)
		}
	}
	best := 0
	for i := range ram[:numRAM] {
		if ram[i].hi-ram[i].lo > ram[best].hi-ram[best].lo {
			best = i
		}
	}
	r := ram[best]
	if numKept == len(kept)-1 || released || r.hi-r.lo < size {
		return 0
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
	for i := range ranges[:numRanges] {
		if ranges[i].hi == aside.lo {
			useFirst(i)
			break
		}
	}
	for i := range ranges[:numRanges] {
		if ranges[i].lo == aside.hi {
			useFirst(i)
			break
		}
	}
}

// useFirst makes a range the one that frames come from first.
func useFirst(i int) {
	assertLocked()
	r := ranges[i]
	for ; i < numRanges-1; i++ {
		ranges[i] = ranges[i+1]
	}
	ranges[i] = r
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

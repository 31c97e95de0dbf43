package mem

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// What a memory dump must know about the memory: where there is RAM, and which of it is the
// kernel's own or has never been used.

// ram holds the ranges of RAM, in whole pages, that the tables map, in the loader's order. Set once
// at boot.
var (
	ram    [maxRanges]frameRange // set once at boot
	numRAM int                   // set once at boot
)

// keepRAM records the RAM in the loader's map: usable, nowhere reserved, and below mostRAM. Regions
// may overlap; RAM in two of them is recorded once. Early context.
func keepRAM(regions []boot.Region) {
	for i := range regions {
		if r := &regions[i]; r.Usable {
			keepRegion(r.Lo, min(r.Hi, mostRAM), regions, i)
		}
	}
}

// keepRegion records the parts of lo <= address < hi that are neither reserved nor in one of the
// first done regions.
func keepRegion(lo, hi uint64, regions []boot.Region, done int) {
	for lo < hi {
		// The lowest claim that ends above lo.
		at, end := hi, hi
		for i := range regions {
			if r := &regions[i]; (!r.Usable || i < done) && r.Hi > lo && r.Lo < at {
				at, end = max(r.Lo, lo), r.Hi
			}
		}
		if at > lo && numRAM < maxRanges {
			total += at - lo
			highest = max(highest, at)
			m := frameRange{max(pageUp(uintptr(lo)), arch.PageSize), pageDown(uintptr(at))}
			if m.lo < m.hi {
				ram[numRAM] = m
				numRAM++
			}
		}
		lo = end
	}
}

// KeepDumped stores a second copy of where there is RAM (arch.Keep). Early context.
func KeepDumped() {
	arch.KeepVar(&ram)
	arch.KeepVar(&numRAM)
}

// RAM returns range i of RAM, lo <= address < hi; ok is false after the last. Any context.
func RAM(i int) (lo, hi uintptr, ok bool) {
	if i < 0 || i >= numRAM || i >= maxRanges {
		return 0, 0, false
	}
	return ram[i].lo, ram[i].hi, true
}

// Root returns the physical address of the page tables. Any context.
func Root() uintptr { return root }

// SpaceHi is just above the highest address that a program can have.
const SpaceHi = spaceHi

// BootEnd returns the end of the RAM after the image that the kernel took while it booted: tables,
// devices' buffers, other CPUs' stacks. Any context.
func BootEnd() uintptr { return nextPage }

// NeverUsed returns the end of the range of RAM around addr that has never been handed out, or 0.
// Any context.
//
//go:noinline
func NeverUsed(addr uintptr) uintptr {
	for i := 0; i < numRanges && i < maxRanges; i++ {
		if r := ranges[i]; r.lo <= addr && addr < r.hi {
			return r.hi
		}
	}
	return 0
}

package mem

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// Page frames: the owner of each 4 KiB of RAM. Free frames are a stack linked through their first
// word; below it are the ranges that have never been touched. So memory is touched only when it is
// used, and freeing is as cheap as taking.

// frameRange is RAM that has never been handed out: lo <= physical address < hi.
type frameRange struct{ lo, hi uintptr }

// maxRanges is enough for any map: each region may begin a range at its start and at its end, and
// each kept range one at its end.
const maxRanges = 2*boot.MaxRegions + boot.MaxModules + 2

var (
	ranges    [maxRanges]frameRange // under the kernel lock
	numRanges int                   // under the kernel lock
	// First free frame, 0: none; linked by first words; under the kernel lock.
	freeList   uintptr
	freeFrames uint64 // under the kernel lock
	allFrames  uint64 // under the kernel lock
	lowFrames  uint64 // the fewest that were ever free; under the kernel lock
)

// AddFrames gives the allocator the RAM lo <= physical address < hi, page-aligned, which must be in
// the direct map. Early context.
func AddFrames(lo, hi uintptr) {
	if hi <= lo || numRanges == maxRanges {
		return
	}
	ranges[numRanges] = frameRange{lo, hi}
	numRanges++
	n := uint64(hi-lo) / arch.PageSize
	freeFrames += n
	allFrames += n
	lowFrames = freeFrames
}

// Frame returns the address in the direct map of a page frame of 4 KiB, all zero, or 0 if memory
// has run out. Early and kernel context.
func Frame() uintptr {
	f := takeFrame()
	if f == 0 && ahead() > 0 {
		giveBack()
		f = takeFrame()
	}
	if f == 0 {
		return 0
	}
	clearFrame(f)
	if onFrame != 0 {
		callOnFrame(f, true)
	}
	return f
}

func clearFrame(f uintptr) {
	*(*[arch.PageSize / 8]uint64)(arch.Pointer(f)) = [arch.PageSize / 8]uint64{}
}

// takeFrame returns a frame with arbitrary contents, or 0.
func takeFrame() uintptr {
	assertLocked()
	f := freeList
	if f != 0 {
		freeList = *(*uintptr)(arch.Pointer(f))
	} else {
		for numRanges > 0 && ranges[numRanges-1].lo == ranges[numRanges-1].hi {
			numRanges--
		}
		if numRanges == 0 {
			return 0
		}
		r := &ranges[numRanges-1]
		f = arch.Virtual(r.lo)
		r.lo += arch.PageSize
	}
	freeFrames--
	if freeFrames < lowFrames {
		lowFrames = freeFrames
	}
	return f
}

// onFrame is the address of a function; set once at boot.
var onFrame uintptr

// OnFrame sets a function that is called for each frame that [Frame] returns, and before
// [FreeFrame] frees it. It must be a top-level function. Early context.
func OnFrame(f func(frame uintptr, taken bool)) { onFrame = arch.EntryOf(f) }

// Not inlined, so that the call is in one place (tools/symbol/stacks/kernel.txt).
//
//go:noinline
func callOnFrame(frame uintptr, taken bool) {
	arch.FuncAt[func(uintptr, bool)](&onFrame)(frame, taken)
}

// FreeFrame frees a frame that Frame has returned. Early and kernel context.
func FreeFrame(f uintptr) {
	if onFrame != 0 {
		callOnFrame(f, false)
	}
	putFrame(f)
}

func putFrame(f uintptr) {
	assertLocked()
	*(*uintptr)(unsafe.Pointer(arch.Pointer(f))) = freeList
	freeList = f
	freeFrames++
}

// FreeFrames returns the number of free frames of 4 KiB, including those that CPUs have taken
// ahead. Any context.
func FreeFrames() uint64 { return freeFrames + ahead() }

// AllFrames returns the number of frames that AddFrames was given. Any context.
func AllFrames() uint64 { return allFrames }

// MostFrames returns the largest number of frames that were ever in use or taken ahead at once. Any
// context.
func MostFrames() uint64 { return allFrames - lowFrames }

package mm

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/resource"
)

// Page frames: who owns which 4 KiB of RAM. Free frames are a stack linked
// through their first word, behind the ranges that nobody has touched yet; so
// memory is only touched when it is used, and giving back is as cheap as taking.

// frameRange is RAM that has never been handed out: lo <= address < hi.
type frameRange struct{ lo, hi uintptr }

const maxRanges = 64

var (
	ranges     [maxRanges]frameRange
	numRanges  int
	freeList   uintptr // first free frame, linked through the first word; 0 ends
	freeFrames uint64
	allFrames  uint64
	lowFrames  uint64 // the fewest that were ever free
)

// AddFrames gives the allocator the RAM lo <= address < hi, page-aligned, which
// is mapped and can be written at its own address. More than 64 ranges are not
// kept. Early context.
func AddFrames(lo, hi uintptr) {
	if hi <= lo || numRanges == maxRanges {
		return
	}
	ranges[numRanges] = frameRange{lo, hi}
	numRanges++
	n := uint64(hi-lo) / amd64.PageSize
	freeFrames += n
	allFrames += n
	lowFrames = freeFrames
}

// Frame returns the address of a page frame of 4 KiB, all zero, or 0 if memory
// has run out. The frame is mapped and can be written at that address. Early and
// kernel context.
func Frame() uintptr {
	f := freeList
	if f != 0 {
		freeList = *(*uintptr)(amd64.Pointer(f))
	} else {
		for numRanges > 0 && ranges[numRanges-1].lo == ranges[numRanges-1].hi {
			numRanges--
		}
		if numRanges == 0 {
			return 0
		}
		r := &ranges[numRanges-1]
		f = r.lo
		r.lo += amd64.PageSize
	}
	freeFrames--
	if freeFrames < lowFrames {
		lowFrames = freeFrames
	}
	*(*[amd64.PageSize / 8]uint64)(amd64.Pointer(f)) = [amd64.PageSize / 8]uint64{}
	if resource.Logs(resource.Pages) {
		resource.Log(resource.Open, resource.Pages, f, amd64.PageSize)
	}
	return f
}

// FreeFrame gives a frame back that Frame has returned. Early and kernel context.
func FreeFrame(f uintptr) {
	if resource.Logs(resource.Pages) {
		resource.Log(resource.Close, resource.Pages, f, amd64.PageSize)
	}
	*(*uintptr)(unsafe.Pointer(amd64.Pointer(f))) = freeList
	freeList = f
	freeFrames++
}

// FreeFrames returns the number of free frames of 4 KiB. Any context.
func FreeFrames() uint64 { return freeFrames }

// AllFrames returns the number of frames that AddFrames was given. Any context.
func AllFrames() uint64 { return allFrames }

// MostFrames returns the largest number of frames that were ever in use at once.
// Any context.
func MostFrames() uint64 { return allFrames - lowFrames }

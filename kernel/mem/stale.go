package mem

import (
	"github.com/zeroframe/zeroframe/arch"
)

// Entries that CPUs have cached and that have lost their frame or a right. The running CPU drops
// them at once, the others together. A frame is freed only after that, because another CPU could
// write to it until then.

// flushOthers is the address of a function, 0 with one CPU. Set once at boot.
var flushOthers uintptr

// numCPUs is the number of CPUs, or 0 if there is only one. Set once at boot.
var numCPUs uint32

// OnStale sets a function that makes the other CPUs drop their cached entries for the pages of lo
// <= address < hi. From then on there are n CPUs. It must be a top-level function. Early context.
func OnStale(f func(lo, hi uintptr), n uint32) {
	flushOthers, numCPUs = arch.EntryOf(f), n
}

// Not inlined, so that the call is in one place (tools/symbol/stacks/kernel.txt).
//
//go:noinline
func callFlushOthers(lo, hi uintptr) {
	arch.FuncAt[func(lo, hi uintptr)](&flushOthers)(lo, hi)
}

// staleLo and staleHi bound the pages that other CPUs must still drop; staleHi is 0 if there are
// none. Under the kernel lock.
var staleLo, staleHi uintptr

// drop drops the cached entry of a page that has lost its frame or a right. A call of settle must
// follow.
func drop(page uintptr) {
	assertLocked()
	arch.FlushPage(page)
	if flushOthers == 0 {
		return
	}
	page = pageDown(page)
	if staleHi == 0 {
		staleLo = page
	}
	staleLo, staleHi = min(staleLo, page), max(staleHi, page+arch.PageSize)
}

// settle makes the other CPUs drop the pages for which drop was called.
func settle() {
	assertLocked()
	if staleHi != 0 {
		callFlushOthers(staleLo, staleHi)
		staleHi = 0
	}
}

// hide makes the pages of lo <= address < hi that lie in areas not present on any CPU, if there are
// several: their entries keep their frames.
func hide(lo, hi uintptr) {
	assertLocked()
	if flushOthers == 0 {
		return
	}
	for i := find(lo); i < numAreas && areas[i].lo < hi; i++ {
		for from, to := max(areas[i].lo, lo), min(areas[i].hi, hi); ; {
			e, page := nextPresent(from, to)
			if e == 0 {
				break
			}
			if *at(e)&arch.PTEPresent != 0 {
				*at(e) &^= arch.PTEPresent
				drop(page)
			}
			from = page + arch.PageSize
		}
	}
	settle()
}

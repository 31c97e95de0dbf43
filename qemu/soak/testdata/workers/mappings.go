package main

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Pages that one goroutine maps, protects and takes away while others read them: when a call
// has returned, all CPUs see what it did.

const (
	readPages  = 8
	pageSize   = 4096
	pageReader = 2 // goroutines that read
)

// pageState is twice the number of a page's changes, and one less while a change is on its way.
// After an odd number of changes the page may be read, and holds that number.
type pageState struct{ atomic.Uint64 }

// mappings changes the pages.
func mappings(w *worker) {
	base := mapPages(w, 0, readPages*pageSize, syscall.PROT_NONE, 0)
	var states [readPages]pageState
	var stop atomic.Bool
	var reads atomic.Int64
	ended := make(chan bool)
	for range pageReader {
		go func() {
			for !stop.Load() {
				for i := range states {
					readPage(w, base+uintptr(i)*pageSize, &states[i])
				}
				reads.Add(1)
				runtime.Gosched()
			}
			ended <- true
		}()
	}
	for w.goOn() {
		before := reads.Load()
		for range 50 {
			i := w.rand.IntN(readPages)
			at, n := base+uintptr(i)*pageSize, states[i].Load()>>1+1
			states[i].Store(n<<1 - 1)
			if n%2 == 1 {
				mapPages(w, at, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_FIXED)
				*(*uint64)(pointer(&at)) = n
				if w.rand.IntN(2) == 0 {
					w.must("mprotect", protect(at, syscall.PROT_READ))
				}
			} else if w.rand.IntN(2) == 0 {
				w.must("mprotect", protect(at, syscall.PROT_NONE))
			} else {
				mapPages(w, at, pageSize, syscall.PROT_NONE, syscall.MAP_FIXED)
			}
			states[i].Store(n << 1)
			if w.rand.IntN(8) == 0 {
				runtime.Gosched()
			}
		}
		for limit := time.Now().Add(grace / 2); reads.Load() == before; runtime.Gosched() {
			if time.Now().After(limit) {
				w.wrong("nobody has read the pages in %v", grace/2)
			}
		}
		w.round()
	}
	stop.Store(true)
	for range pageReader {
		<-ended
	}
	if _, _, e := syscall.Syscall(syscall.SYS_MUNMAP, base, readPages*pageSize, 0); e != 0 {
		w.must("munmap", e)
	}
}

// readPage reads a page, and compares if it has not been changed meanwhile.
func readPage(w *worker, at uintptr, state *pageState) {
	before := state.Load()
	got, faulted := tryRead(at)
	if state.Load() != before || before&1 != 0 {
		return
	}
	n := before >> 1
	if there := n%2 == 1; faulted == there || there && got != n {
		w.wrong("page %#x after change %d: it faults: %t; else it holds %d", at, n, faulted, got)
	}
}

// tryRead reports whether the page faults, or what it holds.
func tryRead(at uintptr) (got uint64, faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	return *(*uint64)(pointer(&at)), false
}

// pointer is the address that p holds, of memory that is not Go's.
func pointer(p *uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(p)) }

func mapPages(w *worker, at, size uintptr, prot, flags int) uintptr {
	got, _, e := syscall.Syscall6(syscall.SYS_MMAP, at, size, uintptr(prot), uintptr(flags|syscall.MAP_PRIVATE|syscall.MAP_ANON), ^uintptr(0), 0)
	if e != 0 {
		w.must("mmap", e)
	}
	return got
}

func protect(at uintptr, prot int) error {
	if _, _, e := syscall.Syscall(syscall.SYS_MPROTECT, at, pageSize, uintptr(prot)); e != 0 {
		return e
	}
	return nil
}

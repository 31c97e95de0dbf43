package mem

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// With several CPUs, pages that are touched for the first time get their frame without the kernel
// lock: each CPU has a stock of frames for that, which it took under the lock.
//
//	a CPU that fills, without the lock     a CPU that changes areas or entries, with it
//
//	inside = 1, locked                     changing = 1, locked
//	changing? then not without the lock    waits until no CPU is inside
//	looks the area up                      changes
//	entry: 0 -> frame, locked              changing = 0
//	inside = 0
//
// Each side announces what it is about to do before it looks at the other, so at least one sees the
// other. A CPU that is inside waits for nobody, and lets no interrupt in. If two CPUs fill the same
// page, both try and one succeeds.

const (
	atHand = 16 // frames
	// lowWater is the number of frames that must be free for a CPU to take some ahead.
	lowWater = 1024
)

// A filler is a CPU's state for filling.
type filler struct {
	inside uint32
	n      uint32
	filled uint64          // pages
	frames [atHand]uintptr // the first n are valid; their contents are arbitrary
	_      [48]byte        // the next filler is in another cache line
}

var (
	fillers  [arch.MaxCPUs]filler // one per CPU; all under the kernel lock, while changing is not 0
	changing uint32               // changes in progress, one inside the other; under the kernel lock
)

// beginChange stops all CPUs from filling pages until endChange. Calls may be nested.
func beginChange() {
	if flushOthers == 0 {
		return
	}
	assertLocked()
	if changing++; changing > 1 {
		return
	}
	arch.FetchAdd(&changing, 0) // all CPUs see it before anything below is read
	for i := range fillers[:numCPUs] {
		for n := uint32(1); load(&fillers[i].inside) != 0; n++ {
			if n%256 == 0 { // QEMU leaves its code for this
				arch.Pause()
			}
		}
	}
}

func endChange() {
	assertLocked()
	if flushOthers != 0 {
		arch.Store32(uintptr(unsafe.Pointer(&changing)), changing-1)
	}
}

func load(p *uint32) uint32 { return arch.Load32(uintptr(unsafe.Pointer(p))) }

// Fill is [ResolveFault] without the kernel lock, by the CPU of that number. It returns false if
// the page needs more than a new frame, or if the CPU has no frame in stock. Kernel context.
func Fill(cpu uint32, addr, code uintptr) bool {
	p := &fillers[cpu]
	if p.n == 0 || code&arch.FaultPresent != 0 {
		return false
	}
	arch.CompareAndSwap(&p.inside, 0, 1)
	ok := load(&changing) == 0 && p.fill(addr, code)
	arch.Store32(uintptr(unsafe.Pointer(&p.inside)), 0)
	return ok
}

func (p *filler) fill(addr, code uintptr) bool {
	i := find(addr)
	if i == numAreas || addr < areas[i].lo {
		return false
	}
	a := &areas[i]
	if a.file != 0 || !a.allows(code) {
		return false
	}
	e := lastEntry(addr)
	if e == 0 || *at(e) != 0 {
		return e != 0 && *at(e)&arch.PTEPresent != 0 // another CPU was first
	}
	f := p.frames[p.n-1]
	clearFrame(f)
	if arch.CompareAndSwap64(at(e), 0, a.entryOf(uint64(arch.Physical(f)))) {
		p.n--
		p.filled++
	}
	return true
}

// Filled returns the number of pages that were filled without the kernel lock. Any context.
func Filled() (n uint64) {
	for i := range fillers[:numCPUs] {
		n += fillers[i].filled
	}
	return n
}

// TakeAhead takes frames for Fill by the CPU of that number, if it has none. Kernel context.
func TakeAhead(cpu uint32) {
	p := &fillers[cpu]
	if p.n != 0 || freeFrames < lowWater || onFrame != 0 {
		return
	}
	assertLocked()
	for p.n < atHand {
		f := takeFrame()
		if f == 0 {
			return
		}
		p.frames[p.n] = f
		p.n++
	}
}

// giveBack frees all frames that CPUs have taken ahead.
func giveBack() {
	beginChange()
	for i := range fillers[:numCPUs] {
		for p := &fillers[i]; p.n > 0; p.n-- {
			putFrame(p.frames[p.n-1])
		}
	}
	endChange()
}

// ahead returns the number of frames that CPUs have taken ahead.
func ahead() (n uint64) {
	for i := range fillers[:numCPUs] {
		n += uint64(load(&fillers[i].n))
	}
	return n
}

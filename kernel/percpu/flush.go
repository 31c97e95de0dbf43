package percpu

import "github.com/zeroframe/zeroframe/arch"

// What the other CPUs have kept of page tables that have changed. The CPU that has changed them,
// which has the kernel lock, has each other one drop it, and waits until all have: by an
// interrupt, or at the gate, where they look before they touch anything (Lock). The interrupt's
// handler takes no lock, since its sender has it.
//
//	the one that unmaps                      another one
//
//	changes the tables
//	asked++, from, to
//	not at the gate: sends an interrupt ---> drops the pages, says so: Flushed = asked
//	waits for Flushed, or the gate           at the gate: does it once it has the lock
//	gives the frames back

// asked counts the times that pages were to be dropped; flushLo and flushHi bound those of the
// last one. Under the kernel lock.
var (
	asked            uint32
	flushLo, flushHi uintptr
	// Flushes counts the times, FlushesSent the interrupts that were sent for them.
	Flushes, FlushesSent uint64
)

// mostPages is up to how many pages are dropped one by one.
const mostPages = 32

// FlushOthers has the other CPUs drop what they have kept of the pages of lo <= address < hi,
// which this one has dropped. Kernel context, with the lock.
func FlushOthers(lo, hi uintptr) {
	r := This()
	Flushes++
	flushLo, flushHi = lo, hi
	store(&asked, asked+1)
	r.Flushed = asked
	for n := range numRecords {
		if o := At(n); o != r && o.behind() {
			FlushesSent++
			arch.InterruptCPU(o.ID, arch.InterruptFlush)
		}
	}
	for n := range numRecords {
		o := At(n)
		for turn := uint32(1); o != r && o.behind(); turn++ {
			if turn%(1<<16) == 0 && onLongWait != 0 {
				r.WaitsFor = n + 1
				callOnLongWait(r)
			}
			relax(turn)
		}
		r.WaitsFor, r.Looks = 0, 0
	}
}

// behind reports whether a CPU may still use what it has kept.
func (r *Record) behind() bool {
	return Load(&r.AtGate) == 0 && Load(&r.Flushed) != asked && r.State.Now() == Running
}

// CatchUp drops what the CPU has kept of pages, if it has been asked to. Kernel context, with the
// lock or in the handler of the interrupt for it.
func (r *Record) CatchUp() {
	n := Load(&asked)
	switch behind := n - r.Flushed; {
	case behind == 0:
		return
	case behind == 1 && flushHi-flushLo <= mostPages*arch.PageSize:
		for a := flushLo; a < flushHi; a += arch.PageSize {
			arch.FlushPage(a)
		}
	default:
		arch.FlushPages()
	}
	store(&r.Flushed, n)
}

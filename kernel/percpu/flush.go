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
	AssertLocked()
	r := This()
	Flushes++
	flushLo, flushHi = lo, hi
	arch.FetchAdd(&asked, 1) // locked: what is loaded behind it is no older (CatchUpHeld)
	r.Flushed = asked
	for n := range numRecords {
		if o := At(n); o != r && o.behind() {
			FlushesSent++
			arch.InterruptCPU(o.ID, arch.InterruptFlush)
			r.Note(EventSend, arch.InterruptFlush, uintptr(n), 0)
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
// lock, or in an interrupt's handler while the CPU is not at the gate: nobody asks for more meanwhile.
func (r *Record) CatchUp() {
	was, n := r.Flushed, Load(&asked)
	switch behind := n - was; {
	case behind == 0:
		return
	case behind == 1 && flushHi-flushLo <= mostPages*arch.PageSize:
		for a := flushLo; a < flushHi; a += arch.PageSize {
			arch.FlushPage(a)
		}
	default:
		arch.FlushPages()
	}
	arch.CompareAndSwap(&r.Flushed, was, n) // an NMI may have come to more (CatchUpHeld)
}

// AnswerFlush is for the handler of the interrupt that FlushOthers sends. At the gate nobody waits for
// the CPU, and another one may be changing the bounds: it drops the pages when it has the lock.
func (r *Record) AnswerFlush() {
	if r.AtGate == 0 {
		r.CatchUp()
	}
}

// CatchUpHeld is CatchUp for a CPU that has stood still, in an NMI, and is Running again. Who changed page
// tables has not waited for it, and may be at more: it drops all, and does not look at the bounds.
// FlushOthers finds that it runs, or it finds what FlushOthers has counted: both are locked in between.
func (r *Record) CatchUpHeld() {
	was, n := r.Flushed, arch.FetchAdd(&asked, 0)
	if n != was {
		arch.FlushPages()
		arch.CompareAndSwap(&r.Flushed, was, n)
	}
}

package percpu

import "github.com/zeroframe/zeroframe/arch"

// Entries of changed page tables that other CPUs have cached. The CPU that changed the tables,
// which has the kernel lock, makes all others drop the entries, and waits until they have: by an
// interrupt, or at the gate, where they check before they touch anything (Lock). The interrupt's
// handler takes no lock, because its sender has it.
//
//	the one that unmaps                      another one
//
//	changes the tables
//	asked++, from, to
//	not at the gate: sends an interrupt ---> drops the pages, says so: Flushed = asked
//	waits for Flushed, or the gate           at the gate: does it once it has the lock
//	gives the frames back

// asked counts the requests to drop pages; flushLo and flushHi bound the pages of the last one.
// Under the kernel lock.
var (
	asked            uint32
	flushLo, flushHi uintptr
	// Flushes counts the requests, FlushesSent the interrupts that were sent for them.
	Flushes, FlushesSent uint64
)

// mostPages is the largest number of pages that are dropped one by one.
const mostPages = 32

// FlushOthers makes the other CPUs drop their cached entries for the pages of lo <= address < hi,
// which this CPU has dropped. Kernel context, with the lock.
func FlushOthers(lo, hi uintptr) {
	AssertLocked()
	r := This()
	Flushes++
	flushLo, flushHi = lo, hi
	arch.FetchAdd(&asked, 1) // locked: later loads are no older (CatchUpHeld)
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

// behind reports whether a CPU may still use old entries.
func (r *Record) behind() bool {
	return Load(&r.AtGate) == 0 && Load(&r.Flushed) != asked && r.State.Now() == Running
}

// CatchUp drops the CPU's cached entries, if it was asked to. Kernel context, with the lock, or in
// an interrupt's handler while the CPU is not at the gate, because nobody asks for more meanwhile.
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
	arch.CompareAndSwap(&r.Flushed, was, n) // an NMI may have caught up further (CatchUpHeld)
}

// AnswerFlush handles the interrupt that FlushOthers sends. At the gate nobody waits for the CPU,
// and another one may be changing the bounds, so it drops the pages when it has the lock.
func (r *Record) AnswerFlush() {
	if r.AtGate == 0 {
		r.CatchUp()
	}
}

// CatchUpHeld is CatchUp for a CPU that stood still, in an NMI, and is Running again. A CPU that
// changed page tables has not waited for it, and may be changing more, so it drops all entries and
// ignores the bounds. Either FlushOthers finds that it runs, or it finds the request that
// FlushOthers has counted, because both use locked instructions in between.
func (r *Record) CatchUpHeld() {
	was, n := r.Flushed, arch.FetchAdd(&asked, 0)
	if n != was {
		arch.FlushPages()
		arch.CompareAndSwap(&r.Flushed, was, n)
	}
}

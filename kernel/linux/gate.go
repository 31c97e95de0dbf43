package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The gate of system calls when threads run on several CPUs: a call is answered under the kernel
// lock, except for a few that read only what no other CPU writes.

// HandleLocked is [Handle] under the kernel lock.
func HandleLocked(f *arch.TrapFrame, cpu *arch.CPU) {
	r := percpu.Of(cpu)
	number := f.CallNumber()
	if result, ok := unlocked(f, r, number); ok {
		r.Calls++
		f.SetResult(uintptr(result))
		return // a signal for the thread interrupts it as soon as it runs
	}
	r.Lock(percpu.GateOf(number), f.PC)
	if t := thread.Get(r.Thread); t.Pending&^t.Mask != 0 && !t.Retried {
		// The signal came after the thread made the call, and is taken before the call, which might
		// wait. A call that starts over may have done part of its work already, so it goes on.
		f.Restart(number)
		thread.Resume(thread.SaveCall(f))
	}
	Handle(f, cpu)
	r.Unlock()
}

// unlocked answers a call that needs no lock; ok is false for all others, and if the call needs
// more checks. The running thread's own record belongs to the CPU as long as it runs.
func unlocked(f *arch.TrapFrame, r *percpu.Record, number uintptr) (result int64, ok bool) {
	a0, a1, a2, _, _, _ := f.CallArgs()
	switch number {
	case callGetpid:
		return pid, true
	case callGettid:
		return int64(r.Thread), true
	case callYield:
		return 0, !thread.Queued() // a thread that is queued from now on counts as a later one
	case callClock:
		// The Go runtime asks for the time on the thread's own stack, which no other thread unmaps.
		t := thread.Get(r.Thread)
		if a1 < t.StackLo || a1+timespecSize > t.StackHi || a1%8 != 0 {
			return 0, false
		}
		var ns uint64
		switch a0 {
		case clockRealtime:
			ns = uint64(clock.Wall())
		case clockMonotonic:
			ns = clock.Now()
		default:
			return 0, false
		}
		return 0, arch.StoreUser64(a1, ns/1e9) && arch.StoreUser64(a1+8, ns%1e9)
	case callFutex:
		// The word may change at any time, so an answer for an earlier value is valid.
		op := a1 &^ (futexPrivate | futexRealtime)
		if op != futexWait && op != futexWaitBitset || a1&futexRealtime != 0 || a0%4 != 0 ||
			!mem.Mappable(a0) && !mem.InImage(a0, 4, false) {
			return 0, false
		}
		have, read := arch.LoadUser32(a0)
		if !read || have == uint32(a2) {
			return 0, false
		}
		again := int64(-eAGAIN)
		r.Note(percpu.EventCall, callFutex, a0, uintptr(again))
		return again, true
	}
	return 0, false
}

package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The program's threads on all CPUs. With one CPU its gates stay those that take no lock.

// shareThreads lets all CPUs run threads. The running one, which has the kernel lock then, is the
// first that gives it back. Kernel context, on the kernel stack.
func shareThreads() {
	if percpu.Count() == 1 {
		return
	}
	r := percpu.This()
	percpu.Many = true
	mem.OnStale(percpu.FlushOthers)
	percpu.OnLongWait(fault.LongWait)
	r.Lock(percpu.Idle, 0)
	arch.SetTrapHandler(fault.TrapLocked)
	takeCalls(r)
	for n := uint32(1); n < percpu.Count(); n++ {
		smp.Begin(n, joinThreads)
	}
}

// takeCalls makes the running CPU one to which system calls can be made.
func takeCalls(r *percpu.Record) {
	lo, hi := stack.Bounds(r.Number, stack.Kernel)
	arch.SetSyscallHandler(linux.HandleLocked, lo, hi)
}

// joinThreads is what each CPU but the first runs from then on.
func joinThreads() {
	r := percpu.This()
	r.Call = 0 // it does not come back
	arch.SetTrapHandler(fault.TrapLocked)
	arch.JoinTimer()
	takeCalls(r)
	lo, hi := stack.Bounds(r.Number, stack.Kernel)
	arch.OnStack(lo, hi, runThreads, 0)
}

func runThreads(uintptr) { thread.Join() }

package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The program's threads on all CPUs. With one CPU, the gates that take no lock stay in use.

// shareThreads makes the running CPU one of several that run threads. It then has the kernel lock,
// and releases it with its first thread. Early context, before the second copies are made
// (arch.Keep).
func shareThreads() {
	r := percpu.This()
	percpu.Many, r.Joined = true, true
	mem.OnStale(percpu.FlushOthers, percpu.Count())
	mem.OnAccess(percpu.AssertLocked)
	fault.SetLockUps()
	percpu.OnLongWait(fault.LongWait)
	r.Lock(percpu.Idle, 0)
	arch.SetTrapHandler(fault.TrapLocked)
	takeCalls(r)
}

// takeCalls enables system calls on the running CPU.
func takeCalls(r *percpu.Record) {
	lo, hi := stack.Bounds(r.Number, stack.Kernel)
	arch.SetSyscallHandler(linux.HandleLocked, lo, hi-16) // BeginKernelStack
}

// joinThreads is what each CPU but the first runs from then on.
func joinThreads() {
	r := percpu.This()
	r.Call, r.Joined = 0, true // it does not come back
	arch.SetTrapHandler(fault.TrapLocked)
	arch.JoinTimer()
	fault.JoinBranches()
	takeCalls(r)
	arch.BeginKernelStack(thread.Join)
}

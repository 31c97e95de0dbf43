package smp

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// main is the first Go function of each CPU but the first, on its own boot stack. It does not
// return.
//
//go:noinline
func main() {
	r := percpu.This()
	mem.UseTables()
	stack.SetTraps(r.Number)
	arch.LoadTables()
	arch.InitFPU()
	arch.JoinInterrupts()
	r.State.Set(percpu.Running)
	for {
		if f := arch.Load32(uintptr(unsafe.Pointer(&r.Call))); f == 0 {
			arch.WaitForInterrupt()
		} else {
			call(&r.Call)
			r.Call = 0
		}
	}
}

// Answer calls the function that a CPU that runs threads must call, if there is one: in the handler
// of the interrupt that Begin sends. Before the CPU runs threads, main does that. Kernel context,
// without the kernel lock.
func Answer(r *percpu.Record) {
	if r.Joined && arch.Load32(uintptr(unsafe.Pointer(&r.Call))) != 0 {
		was := r.Halting
		r.Halting = percpu.NoHalt
		call(&r.Call)
		r.Call, r.Halting = 0, was
	}
}

// call calls the function whose address is at p.
//
//go:noinline
func call(p *uintptr) { arch.FuncAt[func()](p)() }

// Begin makes a CPU other than the first call f, a top-level function, with interrupts off. f runs
// in kernel context, on that CPU's boot stack. Begin waits for the end of the previous call. Not
// inlined, so that tools/symbol/stacks can find in its calls what runs there.
//
//go:noinline
func Begin(number uint32, f func()) {
	Wait(number)
	r := percpu.At(number)
	r.Call = arch.EntryOf(f)
	arch.InterruptCPU(r.ID, arch.InterruptWake)
}

// Wait waits for the end of the call that Begin has begun.
//
//go:noinline
func Wait(number uint32) {
	for arch.Load32(uintptr(unsafe.Pointer(&percpu.At(number).Call))) != 0 {
		arch.Pause()
	}
}

package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// Traces at each instruction, by the trap flag.

// steps is the address of the filter of StepTraces, 0 when it is off. Under the kernel lock.
var steps uintptr

// StepTraces writes a trace at each following instruction for which filter returns true; pc is the
// next instruction. The filter must be a top-level function and runs in kernel context. A nil
// filter ends the stepping. Nothing is watched meanwhile (watch.go). Any context. Not inlined, like
// [OnInterrupt].
//
//go:noinline
func StepTraces(filter func(pc uintptr) bool) {
	if filter == nil {
		arch.SingleStep(false)
		steps = 0
		releaseWatches(percpu.This())
		return
	}
	holdWatches(percpu.This())
	steps = arch.EntryOf(filter)
	arch.SingleStep(true)
}

// step handles the debug exception.
func step(f *arch.TrapFrame) {
	if arch.FuncAt[func(uintptr) bool](&steps)(f.PC) {
		stepped(f.PC, f.SP, f.FP)
		traceAndResume(tracer.KindTrace, f, "step")
	}
}

// stepped is where a debugger can see the machine at the moment of the trace.
//
//go:noinline
func stepped(pc, sp, fp uintptr) { arch.Pause() }

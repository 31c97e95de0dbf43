package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/tracer"
)

// Traces at each instruction: what the trap flag is for.

// steps is the address of the filter of StepTraces, 0 when it is off.
var steps uintptr

// StepTraces writes a trace at each instruction that follows and for which filter is
// true: pc is the next instruction. The filter must be a top-level function and runs in
// kernel context. A nil filter ends it. Any context. Not inlined, as [OnInterrupt].
//
//go:noinline
func StepTraces(filter func(pc uintptr) bool) {
	if filter == nil {
		amd64.SetTrapFlag(false)
		steps = 0
		return
	}
	steps = **(**uintptr)(unsafe.Pointer(&filter))
	amd64.SetTrapFlag(true)
}

// step answers the debug exception.
func step(f *amd64.TrapFrame) {
	p := &steps
	if (*(*func(uintptr) bool)(unsafe.Pointer(&p)))(f.RIP) {
		stepped(f.RIP, f.RSP, f.BP)
		ask(tracer.KindTrace, f, "step")
	}
}

// stepped is where a debugger can look at the same moment as the trace.
//
//go:noinline
func stepped(pc, sp, fp uintptr) { amd64.Pause() }

package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/probe"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Breakpoints of probes whose instruction must be executed: the instruction is put back for one
// step. With several CPUs another one could pass the place meanwhile and not be counted. So all
// others stand still, and the CPU keeps the kernel lock during the step.
//
//	breakpoint: lock, Hit, beginStep ---> step ---> debug exception: Stepped, endStep, unlock
//	                                       |            ^
//	                                       v            |
//	                             page fault: the place is armed, and the others run
//	                             while the page comes

// beginStep begins the step if Hit asked for one.
func beginStep() {
	r := percpu.This()
	if r.Stepping == 0 {
		return
	}
	if percpu.Many {
		for !HoldCPUs() { // another CPU holds this one
			arch.Pause()
		}
		r.Holding = true
	}
	holdForStep(r)
	probe.PutBack(r)
}

// endStep lets the other CPUs go on if the step, which led to f, is over.
func endStep(f *arch.TrapFrame) {
	r := percpu.This()
	if r.Stepping == 0 {
		releaseAfterStep(r, f)
	}
	if r.Holding && r.Stepping == 0 {
		r.Holding = false
		ReleaseCPUs()
	}
}

// trapInStep is TrapLocked for a trap of the instruction that was put back: the CPU already has the
// lock.
func trapInStep(f *arch.TrapFrame, r *percpu.Record) {
	if f.Trap == arch.TrapPage {
		// A CPU that stands still may be in mem.Fill, which a change of pages waits for.
		probe.Arm(r)
		r.Holding = false
		ReleaseCPUs()
	}
	Trap(f)
	switch {
	case r.Stepping == 0:
		r.Unlock()
	case !r.Holding:
		beginStep()
	}
}

package probe

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

var (
	hits uint64 // under the kernel lock

	// A hit takes more time than Hit sees: the trap itself, the entry code and the return.
	// calibrate measures that.
	unseen      uint64 // ticks for each hit; set once at boot
	calibrating bool   // set once at boot
	seen        uint64 // ticks in Hit while calibrating; set once at boot
)

// calibrate sets unseen: the least of several breakpoints.
func calibrate() {
	calibrating, unseen = true, ^uint64(0)
	for range 64 {
		before := arch.ReadCounter()
		arch.Breakpoint()
		if t := arch.ReadCounter() - before - seen; t < unseen {
			unseen = t
		}
	}
	calibrating = false
}

// Hit handles a breakpoint: it reports whether it was one of the places, and makes f continue after
// the instruction there, or, if Stepping is set in the CPU's record, at it for one step, as soon as
// PutBack is called. Kernel context.
func Hit(f *arch.TrapFrame) bool {
	if !On() {
		return false
	}
	now := clock.Counter() // a call may return on another CPU
	if calibrating {
		seen = clock.Counter() - now
		return true
	}
	off := f.PC - arch.BreakpointSize - textLo
	if off > 1<<32-1 {
		return false
	}
	i, ok := find(uint32(off))
	if !ok {
		return false
	}
	percpu.AssertLocked()
	r := percpu.This()
	p := placeAt(i)
	f.PC -= arch.BreakpointSize
	hits++
	if p.Kind == Entry {
		enter(p.Function, f, now)
	} else {
		leave(p.Function, p.Kind, f, now)
	}
	if !emulate(p, f) {
		r.Stepping, r.StepFlags = i+1, f.BeginStep()
	}
	r.ProbeTicks += clock.Counter() - now + unseen
	return true
}

// PutBack restores the instruction that the CPU will step over, after Hit: no other CPU may run the
// program until the place is armed again. Kernel context.
func PutBack(r *percpu.Record) { arch.PatchCode(stepped(r), placeAt(r.Stepping-1).Byte) }

// Arm writes the breakpoint to its place. Kernel context.
func Arm(r *percpu.Record) { arch.PatchCode(stepped(r), arch.BreakpointCode) }

// emulate does what the instruction at p would do. It returns false if the instruction must be
// executed.
func emulate(p *Place, f *arch.TrapFrame) bool {
	switch p.Action {
	case ActPushBP:
		if !f.PushFP() {
			return false
		}
		f.PC += uintptr(p.Len)
		return true
	case ActRet:
		return f.Return()
	case ActJump:
		f.PC += uintptr(p.Len) + uintptr(int(p.Arg))
		return true
	}
	return false
}

// Stepped handles a debug exception: it reports whether it was the step over a restored
// instruction, whose place it arms again. Kernel context.
func Stepped(f *arch.TrapFrame) bool {
	percpu.AssertLocked()
	r := percpu.This()
	if !parts.Observe || r.Stepping == 0 {
		return false
	}
	now := arch.ReadCounter()
	if f.PC != stepped(r) { // else a REP that is not finished
		end(f, r)
	}
	r.ProbeTicks += arch.ReadCounter() - now + unseen
	return true
}

// Fault is called for a fault that will be the program's: if it was in a restored instruction, it
// ends the step. Kernel context.
func Fault(f *arch.TrapFrame) {
	if r := percpu.This(); parts.Observe && r.Stepping != 0 && f.PC == stepped(r) {
		end(f, r)
	}
}

// stepped returns the address of the restored instruction.
func stepped(r *percpu.Record) uintptr { return textLo + uintptr(placeAt(r.Stepping-1).Offset) }

// end arms the place again and restores the flags.
func end(f *arch.TrapFrame, r *percpu.Record) {
	Arm(r)
	f.EndStep(r.StepFlags)
	r.Stepping = 0
}

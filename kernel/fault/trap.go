package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/observe/probe"
	"github.com/zeroframe/zeroframe/kernel/observe/profile"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer"
)

// What to do about a trap. Some resume what was interrupted: an access to memory that is given only
// now, a load that was allowed to fault, an interrupt, a request for a trace. A fault of the
// program becomes a signal, if the program handles it. All others are fatal.

// Trap is called by the entry code for each trap, on the stack of its vector with interrupts off.
// When it returns, what was interrupted resumes. Kernel context.
func Trap(f *arch.TrapFrame) {
	switch f.Trap {
	case arch.TrapPage, arch.TrapProtection, arch.TrapStackSegment:
		if f.Trap == arch.TrapPage && stack.Running && pageIn(f) {
			noteTrap(percpu.This(), f)
			return
		}
		resume := tracer.Fixup(f.PC)
		if resume == 0 {
			resume = arch.UserFixup(f.PC)
		}
		if resume != 0 {
			f.Resume(resume)
			return
		}
		if f.Repaired() {
			return
		}
	case arch.TrapFPU, arch.TrapOpcode:
		if f.Repaired() {
			return
		}
	case arch.TrapNMI:
		if !stopIfAsked(f) && !alarmed(f) {
			traceAndResume(tracer.KindNMI, f, "NMI")
		}
		f.SkipHalt()
		return
	case arch.TrapDebug:
		if watched(f) {
			return
		}
		if probe.Stepped(f) {
			endStep(f)
			return
		}
		if steps != 0 {
			step(f)
			return
		}
	case arch.TrapBreakpoint:
		if probe.Hit(f) {
			beginStep()
			return
		}
		if !stack.Running || f.InKernel() {
			traceAndResume(tracer.KindTrace, f, "breakpoint")
			return
		}
	}
	inKernel := f.InKernel()
	if f.Trap >= arch.TrapInterrupt {
		if profile.On() && !inKernel {
			observe.Sample(f)
		}
		interrupt(f)
		if percpu.This().Hung && !lookAgain(f) {
			endHung(f)
		}
		if percpu.This().Number == 0 {
			monitorOnKey(f)
		}
		if !inKernel {
			linux.LeaveTrap(f)
		}
		return
	}
	noteTrap(percpu.This(), f)
	probe.Fault(f)
	endStep(f)
	if stack.Running && !inKernel {
		signalIfHandled(f)
	}
	fatalTrap(f)
}

// TrapLocked is [Trap] when threads run on several CPUs: it takes the kernel lock for what concerns
// the program, and for interrupts. A fault of the kernel takes no lock, because it is fatal or the
// CPU already has the lock. An NMI takes none, either.
func TrapLocked(f *arch.TrapFrame) {
	r := percpu.This()
	switch {
	case f.Trap >= arch.TrapInterrupt:
		interruptLocked(f, r)
		return
	case f.Trap == arch.TrapDebug && watched(f): // first, as it reads the value
		return
	case r.Holding && f.Trap != arch.TrapNMI && f.Trap != arch.TrapDouble &&
		f.Trap != arch.TrapMachine && !f.InKernel():
		trapInStep(f, r)
		return
	case r.Locked, f.Trap == arch.TrapNMI, f.Trap == arch.TrapDouble, f.Trap == arch.TrapMachine:
		Trap(f)
		return
	case f.Trap == arch.TrapPage && (!f.InKernel() || arch.UserFixup(f.PC) != 0):
		if mem.Fill(r.Number, f.Addr, f.Error) {
			noteTrap(r, f)
			return
		}
		r.Lock(percpu.PageFault, f.PC)
		mem.TakeAhead(r.Number)
	case f.InKernel():
		Trap(f)
		return
	default:
		r.Lock(percpu.Exception, f.PC)
	}
	Trap(f)
	if !r.Holding {
		r.Unlock()
	}
}

// retryAfter is when a postponed interrupt comes again, in nanoseconds.
const retryAfter = 100e3

// interruptLocked is TrapLocked for an interrupt.
func interruptLocked(f *arch.TrapFrame, r *percpu.Record) {
	number := uint8(f.Trap)
	if number == arch.InterruptTimer {
		// QEMU before 8.1, with -icount, gives one CPU all the time until the next timer is due,
		// and the others none, unless that CPU leaves its code earlier: a program that spins would
		// stop them.
		arch.Pause()
	}
	if number == arch.InterruptFlush {
		r.AnswerFlush() // its sender has the lock
		arch.EndOfInterrupt(number)
		return
	}
	if number == arch.InterruptWake {
		smp.Answer(r)
	}
	if r.Locked {
		Trap(f)
		return
	}
	if r.Defer(number) {
		arch.EndOfInterrupt(number)
		return
	}
	if !r.TryInterrupt(number, f.PC) {
		clock.Arm(&r.Shot, clock.Now()+retryAfter)
		arch.EndOfInterrupt(number)
		return
	}
	Trap(f)
	r.Unlock()
}

// pageIn maps a frame for the page that an access missed, if the program's address space has room
// for it there. It returns false if the access was wrong.
func pageIn(f *arch.TrapFrame) bool {
	if f.InKernel() && arch.UserFixup(f.PC) == 0 {
		return false
	}
	switch resolve(f) {
	case mem.Resolved:
		return true
	case mem.NoFrame:
		outOfMemory(f)
	}
	return false
}

func resolve(f *arch.TrapFrame) mem.Verdict {
	v := mem.ResolveFault(f.Addr, f.Error)
	if v == mem.NoFrame && vfs.Reclaim() > 0 {
		v = mem.ResolveFault(f.Addr, f.Error)
	}
	if v == mem.FromFile {
		v = linux.FilePage(f.Addr, f.Error&arch.FaultWrite != 0)
	}
	return v
}

// signalIfHandled turns a fault of the program into a signal, as Linux does
// (arch/x86/kernel/traps.c). It returns if the program does not handle the signal.
func signalIfHandled(f *arch.TrapFrame) {
	const (
		ill, trace, bus, fpe, segv            = 4, 5, 7, 8, 11
		fromKernel                            = 0x80
		notMapped, notAllowed, divide, opcode = 1, 2, 1, 2
		noPage                                = 2 // BUS_ADRERR: a mapped file is not that long
	)
	sig, code, addr := segv, int32(fromKernel), uintptr(0)
	switch f.Trap {
	case arch.TrapPage:
		if code, addr = notMapped, f.Addr; mem.ResolveFault(f.Addr, f.Error) == mem.FromFile {
			sig, code = bus, noPage
		}
		// Linux does not tell a program what is mapped in the kernel's half.
		if sig == segv && f.Addr < mem.SpaceHi && (f.Error&arch.FaultPresent != 0 || mem.InArea(f.Addr)) {
			code = notAllowed
		}
	case arch.TrapDivide:
		sig, code, addr = fpe, divide, f.PC
	case arch.TrapOpcode:
		sig, code, addr = ill, opcode, f.PC
	case arch.TrapBreakpoint, arch.TrapDebug:
		sig, code = trace, 1
	case arch.TrapStackSegment:
		sig = bus
	case arch.TrapFloat, arch.TrapSIMD:
		sig, code, addr = fpe, 3, f.PC
	case arch.TrapProtection:
	default:
		return
	}
	if linux.Handles(sig) {
		noteBranches()
		linux.Fault(f, sig, code, addr)
	}
}

// handlers holds, for each vector, the address of a function, or 0. Under the kernel lock.
var handlers [256]uintptr

// OnInterrupt sets the handler of a vector from 32 to 254. f must be a top-level function; it runs
// in kernel context on the interrupt stack, with interrupts off, and the interrupt controller is
// told when it returns. It is not inlined, so that tools/symbol/stacks can find in its calls what
// runs on that stack.
//
//go:noinline
func OnInterrupt(vector uint8, f func()) { handlers[vector] = arch.EntryOf(f) }

// RaiseInterrupt sends the CPU an interrupt and lets it in. It panics if that is not possible. Any
// context.
func RaiseInterrupt(number uint8) {
	if !arch.LocalInterrupts() {
		Panic("this CPU has no local interrupt controller: no interrupt can be raised")
	}
	on := arch.InterruptsEnabled()
	arch.InterruptSelf(number)
	arch.EnableInterrupts()
	for range 100 {
		arch.Pause()
	}
	if !on {
		arch.DisableInterrupts()
	}
}

func interrupt(f *arch.TrapFrame) {
	number := uint8(f.Trap)
	if number == arch.InterruptTimer && percpu.This().Number == 0 { // CPU 0's stacks are in the table
		checkInTime(f) // first, because the handler may choose another thread
	}
	if percpu.Many {
		steer(number)
	}
	percpu.This().Note(percpu.EventInterrupt, uint32(number), f.PC, 0)
	if h := handlers[number]; h != 0 {
		arch.FuncAt[func()](&h)()
	}
	arch.EndOfInterrupt(number)
}

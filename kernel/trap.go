package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/probe"
	"github.com/zeroframe/zeroframe/kernel/profile"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/tracer"
)

// What to do about a trap. Some resume what was interrupted: an access to memory that
// only had to be given, a load that was allowed to fault, an interrupt, a trap that asks
// for a trace. A fault of the program becomes a signal, if the program takes those. All
// others are fatal.

// trap is called by the entry code for each trap, on the stack of its vector
// with interrupts off, and resumes what was interrupted when it returns. Kernel
// context.
func trap(f *amd64.TrapFrame) {
	switch f.Vector {
	case amd64.VectorPF, amd64.VectorGP, amd64.VectorSS:
		if f.Vector == amd64.VectorPF && running && touch(f) {
			return
		}
		resume := tracer.Fixup(f.RIP)
		if resume == 0 {
			resume = amd64.UserFixup(f.RIP)
		}
		if resume != 0 {
			f.Resume(resume)
			return
		}
	case amd64.VectorNM, amd64.VectorUD:
		if f.Repaired() {
			return
		}
	case amd64.VectorNMI:
		ask(tracer.KindNMI, f, "NMI")
		return
	case amd64.VectorDB:
		if probe.Stepped(f) {
			return
		}
		if steps != 0 {
			step(f)
			return
		}
	case amd64.VectorBP:
		if probe.Hit(f) {
			return
		}
		if !running || f.InKernel() {
			ask(tracer.KindTrace, f, "breakpoint")
			return
		}
	}
	inKernel := f.InKernel()
	if f.Vector >= amd64.VectorIRQ {
		if profile.On() && !inKernel {
			sample(f)
		}
		interrupt(f)
		if barking {
			bark(f)
		}
		monitorTrap(f)
		if !inKernel {
			linuxabi.LeaveTrap(f)
		}
		return
	}
	probe.Fault(f)
	if running && !inKernel {
		raise(f)
	}
	die(f)
}

// touch gives the page that an access has missed a frame, if the program's address
// space has room for it there. It returns false if the access was wrong.
func touch(f *amd64.TrapFrame) bool {
	if f.InKernel() && amd64.UserFixup(f.RIP) == 0 {
		return false
	}
	if resource.Logs(resource.Pages) {
		// The log walks stacks, and a load that it fixes up may fault: not on top of
		// what runs here.
		lo, top := amd64.IST(amd64.ISTPageFault)
		amd64.SetIST(amd64.ISTPageFault, lo, top-touchRoom)
		v := mm.Touch(f.CR2, f.Error)
		amd64.SetIST(amd64.ISTPageFault, lo, top)
		return touched(f, v)
	}
	return touched(f, mm.Touch(f.CR2, f.Error))
}

// touchRoom is how much of the page faults' stack touch has for itself while it logs.
const touchRoom = 8 << 10

func touched(f *amd64.TrapFrame, v mm.Verdict) bool {
	switch v {
	case mm.Mended:
		return true
	case mm.NoFrame:
		outOfMemory(f)
	}
	return false
}

// raise makes a fault of the program a signal, as Linux does (arch/x86/kernel/traps.c).
// It returns if the program does not take it.
func raise(f *amd64.TrapFrame) {
	const (
		ill, trace, bus, fpe, segv            = 4, 5, 7, 8, 11
		fromKernel                            = 0x80
		notMapped, notAllowed, divide, opcode = 1, 2, 1, 2
	)
	sig, code, addr := segv, int32(fromKernel), uintptr(0)
	switch f.Vector {
	case amd64.VectorPF:
		code, addr = notMapped, f.CR2
		if f.Error&amd64.PFPresent != 0 {
			code = notAllowed
		}
	case amd64.VectorDE:
		sig, code, addr = fpe, divide, f.RIP
	case amd64.VectorUD:
		sig, code, addr = ill, opcode, f.RIP
	case amd64.VectorBP, amd64.VectorDB:
		sig, code = trace, 1
	case amd64.VectorSS:
		sig = bus
	case amd64.VectorMF, amd64.VectorXM:
		sig, code, addr = fpe, 3, f.RIP
	case amd64.VectorGP:
	default:
		return
	}
	if linuxabi.Handles(sig) {
		linuxabi.Fault(f, sig, code, addr)
	}
}

// handlers holds, for each vector, the address of a function, or 0.
var handlers [256]uintptr

// OnInterrupt sets the handler of a vector from 32 to 254. f must be a
// top-level function; it runs in kernel context on the interrupt stack, with
// interrupts off, and the local APIC is told when it returns. It is not inlined, so that
// the calls of it tell what runs on that stack (tools/stacks).
//
//go:noinline
func OnInterrupt(vector uint8, f func()) { handlers[vector] = **(**uintptr)(unsafe.Pointer(&f)) }

// RaiseInterrupt sends the CPU an interrupt, by way of its local APIC, and lets
// it in. Without a local APIC it panics. Any context.
func RaiseInterrupt(vector uint8) {
	if apic == 0 {
		Panic("this CPU has no local APIC: no interrupt can be raised")
	}
	on := amd64.InterruptsEnabled()
	amd64.InterruptSelf(apic, vector)
	amd64.EnableInterrupts()
	for i := 0; i < 100; i++ {
		amd64.Pause()
	}
	if !on {
		amd64.DisableInterrupts()
	}
}

func interrupt(f *amd64.TrapFrame) {
	if f.Vector == amd64.VectorSpurious {
		return
	}
	if h := handlers[uint8(f.Vector)]; h != 0 {
		p := &h // a func value is a pointer to a word that holds the code's address
		(*(*func())(unsafe.Pointer(&p)))()
	}
	if apic != 0 {
		amd64.EndOfInterrupt(apic)
	}
}

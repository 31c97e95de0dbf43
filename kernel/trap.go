package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/tracer"
)

// What to do about a trap. Three kinds resume: a load that was allowed to
// fault, an interrupt, and a trap that asks for a trace. All others are fatal.

// trap is called by the entry code for each trap, on the stack of its vector
// with interrupts off, and resumes what was interrupted when it returns. Kernel
// context.
func trap(f *amd64.TrapFrame) {
	switch f.Vector {
	case amd64.VectorPF, amd64.VectorGP, amd64.VectorSS:
		if resume := tracer.Fixup(f.RIP); resume != 0 {
			f.Resume(resume)
			return
		}
	case amd64.VectorNMI:
		nmis++
		ask(tracer.KindNMI, f, "NMI")
		return
	case amd64.VectorBP:
		ask(tracer.KindTrace, f, "breakpoint")
		return
	}
	if f.Vector >= amd64.VectorIRQ {
		interrupt(f)
		return
	}
	die(f)
}

// handlers holds, for each vector, the address of a function, or 0.
var handlers [256]uintptr

// nmis counts the NMIs that were traced.
var nmis uint32

// NMIs returns how many NMIs have been traced since boot. Any context.
func NMIs() uint32 { return nmis }

// OnInterrupt sets the handler of a vector from 32 to 254. f must be a
// top-level function; it runs in kernel context on the interrupt stack, with
// interrupts off, and the local APIC is told when it returns.
func OnInterrupt(vector uint8, f func()) { handlers[vector] = **(**uintptr)(unsafe.Pointer(&f)) }

// RaiseInterrupt sends the CPU an interrupt, by way of its local APIC, and lets
// it in. Without a local APIC it panics. Early and kernel context.
func RaiseInterrupt(vector uint8) {
	if apic == 0 {
		Panic("this CPU has no local APIC: no interrupt can be raised")
	}
	amd64.InterruptSelf(apic, vector)
	amd64.EnableInterrupts()
	for i := 0; i < 100; i++ {
		amd64.Pause()
	}
	amd64.DisableInterrupts()
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

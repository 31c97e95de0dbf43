package golab

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// Another CPU dies while the first one runs a goroutine of the program.

// stayOnFirst has the goroutine run on the first CPU from now on.
func stayOnFirst() {
	runtime.LockOSThread()
	first := uint64(1)
	if _, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(first), uintptr(unsafe.Pointer(&first))); e != 0 {
		say("sched_setaffinity: " + e.Error())
	}
}

//go:noinline
func otherCPUA() { otherCPUB(); sink++ }

//go:noinline
func otherCPUB() {
	stayOnFirst()
	last := percpu.Count() - 1
	if last == 0 {
		say("go.cpu needs a machine with several CPUs (zf run -smp N)")
	} else {
		smp.Begin(last, divideOnCPU)
	}
	otherCPUC()
	sink++
}

//go:noinline
func otherCPUC() {
	for zero == 0 {
		sink++
	}
}

// divideOnCPU is what dies, in kernel context.
//
//go:noinline
func divideOnCPU() { sink = uint64(five / zero) }

// recordOfCPUA has the first CPU call recordOfCPUB, in kernel context.
//
//go:noinline
func recordOfCPUA() {
	if percpu.Count() > 1 {
		smp.Begin(0, recordOfCPUB)
	}
	otherCPUC()
	sink++
}

// recordOfCPUB overwrites of each other CPU's record what leads to it, and what it is called by. The
// CPUs stand still, or they would be the first to die of it.
//
//go:noinline
func recordOfCPUB() {
	fault.HoldCPUs()
	for n := uint32(1); n < percpu.Count(); n++ {
		r := percpu.At(n)
		r.ID, r.Number = 0xaa, n^0x40
		for at := uintptr(unsafe.Pointer(r)); at < uintptr(unsafe.Pointer(r))+8; at++ { // where the record is
			*(*byte)(arch.Pointer(at)) = 0x5a
		}
	}
	recordOfCPUC(nil)
	sink++
}

//go:noinline
func recordOfCPUC(p *uint64) { sink = *p }

// callForEver makes system calls.
func callForEver() {
	for zero == 0 {
		syscall.Getppid()
	}
}

//go:noinline
func lockHeldA() {
	stayOnFirst()
	smp.Begin(percpu.Count()-1, lockHeldB)
	callForEver()
}

// lockHeldB takes the kernel lock and keeps it.
//
//go:noinline
func lockHeldB() {
	percpu.This().Lock(percpu.Interrupt, 0)
	otherCPUC()
	sink++
}

//go:noinline
func deafA() {
	stayOnFirst()
	smp.Begin(percpu.Count()-1, deafB)
	callForEver()
}

// deafB lets no interrupt in, though the timer is to interrupt.
//
//go:noinline
func deafB() {
	clock.Arm(&percpu.This().Shot, clock.Now())
	otherCPUC()
	sink++
}

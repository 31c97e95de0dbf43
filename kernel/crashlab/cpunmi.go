package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Crashes while a CPU takes no NMI because it is in one: it has sent itself an NMI, and is writing
// the trace of that (nmiHook).

// inNMI is 1 + the number of the CPU that is in its NMI. Crash lab only.
var inNMI uint32

// nmiSelf sends the running CPU an NMI. It does not return. The code that the CPU runs in the NMI
// was given to fault.OnPanic, which calls it at the beginning of each panic stage.
//
//go:noinline
func nmiSelf() {
	arch.StopCPU(percpu.This().ID)
	idleSpin()
}

// awaitNMI returns when a CPU is in its NMI.
func awaitNMI() {
	for arch.CompareAndSwap(&inNMI, 0, 0) {
		arch.Pause()
	}
}

//go:noinline
func nmiA() {
	if percpu.This().Number == lastCPU() {
		fault.OnPanic(dieInNMI)
		nmiSelf()
	}
	idleSpin()
}

//go:noinline
func dieInNMI(s fault.Stage) {
	if s == fault.StageFull {
		undefinedB()
	}
	sink++
}

//go:noinline
func nmiStuckA() {
	switch percpu.This().Number {
	case lastCPU():
		fault.OnPanic(stayInNMI)
		nmiSelf()
	case 0:
		awaitNMI()
		undefinedB()
	}
	idleSpin()
}

//go:noinline
func stayInNMI(fault.Stage) {
	if me := percpu.This().Number; me == lastCPU() {
		arch.CompareAndSwap(&inNMI, 0, me+1)
		idleSpin()
	}
	sink++
}

//go:noinline
func nmiLateA() {
	switch percpu.This().Number {
	case 0:
		fault.OnPanic(dieLateInNMI)
		nmiSelf()
	case lastCPU():
		awaitNMI()
		undefinedB()
	}
	idleSpin()
}

// dieLateInNMI runs on both CPUs: the first CPU dies when the last one is writing its trace, and
// that one goes on when the first has died.
//
//go:noinline
func dieLateInNMI(s fault.Stage) {
	first := percpu.At(0)
	switch {
	case s != fault.StageFull:
	case percpu.This() == first:
		arch.CompareAndSwap(&inNMI, 0, 1)
		for !arch.CompareAndSwap(&inNMI, 2, 2) {
			arch.Pause()
		}
		undefinedB()
	default:
		arch.CompareAndSwap(&inNMI, 1, 2)
		for first.State.Now() != percpu.Dying {
			arch.Pause()
		}
	}
	sink++
}

package main

import "github.com/zeroframe/zeroframe/kernel/fault"

// Crashes in which sending the trace, or the memory, by network faults, too.

//go:noinline
func networkA() { fault.OnPanic(networkHook); networkB(); sink++ }

//go:noinline
func networkB() { networkC(nilPointer); sink++ }

//go:noinline
func networkC(p *[4]uint64) { p[1] = 1; sink++ }

// networkHook faults when the trace is on the console and is about to be sent.
//
//go:noinline
func networkHook(s fault.Stage) {
	if s == fault.StageSending {
		nestedFault(nilPointer)
	}
	sink++
}

//go:noinline
func dumpA() { fault.OnPanic(dumpHook); networkB(); sink++ }

// dumpHook faults when all traces are out and the memory is about to be sent.
//
//go:noinline
func dumpHook(s fault.Stage) {
	if s == fault.StageDumping {
		nestedFault(nilPointer)
	}
	sink++
}

package main

import "github.com/zeroframe/zeroframe/kernel/fault"

// A crash whose trace faults, too, on its way to the network.

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

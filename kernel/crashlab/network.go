package main

import "github.com/zeroframe/zeroframe/kernel"

// A death whose trace dies, too, on its way to the network.

//go:noinline
func networkA() { kernel.OnPanic(networkHook); networkB(); sink++ }

//go:noinline
func networkB() { networkC(nilPointer); sink++ }

//go:noinline
func networkC(p *[4]uint64) { p[1] = 1; sink++ }

// networkHook faults when the trace is on the console and is about to be sent.
//
//go:noinline
func networkHook(rung int) {
	if rung == kernel.HookNetwork {
		nestedFault(nilPointer)
	}
	sink++
}

package main

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/console"
)

// Deaths inside the panic path, and loops and depths for measurements.

// lastRung is the rung up to which the panic path shall fault.
var lastRung = 1

//go:noinline
func nestedA() {
	if v, ok := kernel.Option("crash.rung"); ok && len(v) == 1 {
		lastRung = int(v[0] - '0')
	}
	kernel.OnPanic(nestedHook)
	nestedB()
	sink++
}

//go:noinline
func nestedB() { nestedC(nilPointer); sink++ }

//go:noinline
func nestedC(p *[4]uint64) { amd64.Pause(); p[1] = 1 }

// nestedHook runs at the beginning of each rung.
//
//go:noinline
func nestedHook(rung int) {
	if rung <= lastRung {
		nestedFault(nilPointer)
	}
	sink++
}

//go:noinline
func nestedFault(p *[4]uint64) { amd64.Pause(); p[2] = 1 }

//go:noinline
func spinA() { spinB(); sink++ }

//go:noinline
func spinB() { spinC(); sink++ }

// spinC never returns. It says so first, so that whoever sends the NMI knows
// that it is there.
//
//go:noinline
func spinC() {
	console.String("spinning\n")
	for five != 0 {
		amd64.Pause()
	}
	sink++
}

//go:noinline
func deepA() { deepB(); sink++ }

//go:noinline
func deepB() { deepC(26); sink++ }

// deepC calls itself n times more, then panics: with start, early, lab, deepA
// and deepB the walk has 32 frames.
//
//go:noinline
func deepC(n int) {
	if n == 0 {
		kernel.Panic("deep")
	}
	deepC(n - 1)
	sink++
}

package main

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel"
	"github.com/zeroframe/zeroframe/kernel/console"
)

// Deaths inside the panic path, and loops and depths for measurements.

// lastRung is the rung up to which the panic path shall fault.
var lastRung int

func faultUpTo(rung int) {
	lastRung = rung
	kernel.OnPanic(nestedHook)
}

//go:noinline
func nestedA() {
	if lastRung == 0 {
		faultUpTo(1)
	}
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
func deepB() { deepC(depth() - shallow); sink++ }

// deepC calls itself n times more, then panics.
//
//go:noinline
func deepC(n int) {
	if n == 0 {
		kernel.Panic("deep")
	}
	deepC(n - 1)
	sink++
}

// shallow is the number of frames with deepC or measureC called once: itself, its
// callers B and A, lab, early, start and long.
const shallow = 7

// depth is the number of frames that the option crash.depth asks for.
func depth() int {
	n := 0
	v, _ := kernel.Option("crash.depth")
	for _, c := range v {
		if c < '0' || c > '9' || n > 1000 {
			break
		}
		n = n*10 + int(c-'0')
	}
	if n < shallow {
		n = 32
	}
	return n
}

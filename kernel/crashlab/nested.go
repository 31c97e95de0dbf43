package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/option"
)

// Nested panics, and loops and depths for measurements.

// lastStage is the last panic stage that must fault. Crash lab only.
var lastStage fault.Stage

func faultUpTo(s fault.Stage) {
	lastStage = s
	fault.OnPanic(nestedHook)
}

//go:noinline
func nestedA() {
	if lastStage == 0 {
		faultUpTo(fault.StageFull)
	}
	nestedB()
	sink++
}

//go:noinline
func nestedB() { nestedC(nilPointer); sink++ }

//go:noinline
func nestedC(p *[4]uint64) { arch.Pause(); p[1] = 1 }

// nestedHook runs at the beginning of each stage.
//
//go:noinline
func nestedHook(s fault.Stage) {
	if s <= lastStage {
		nestedFault(nilPointer)
	}
	sink++
}

//go:noinline
func nestedFault(p *[4]uint64) { arch.Pause(); p[2] = 1 }

//go:noinline
func spinA() { spinB(); sink++ }

//go:noinline
func spinB() { spinC(); sink++ }

// spinC never returns. It announces that it spins, so that whoever sends the NMI knows.
//
//go:noinline
func spinC() {
	console.String("spinning\n")
	for five != 0 {
		arch.Pause()
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
		fault.Panic("deep")
	}
	deepC(n - 1)
	sink++
}

// shallow is the number of frames when deepC or measureC is called once: itself, its callers B and
// A, lab, early, start and long.
const shallow = 7

// depth is the number of frames that the option crash.depth asks for.
func depth() int {
	n, _ := option.Number("crash.depth")
	if n < shallow {
		return 32
	}
	return int(n)
}

package kernel_test

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel"
)

// The kernel calls the early hook before the Go runtime starts.
//
//go:linkname earlyHook github.com/zeroframe/zeroframe/kernel.earlyHook
var earlyHook = early

var deepest uintptr

// early allocates nothing, and stores no pointers.
func early() {
	deepest, _ = kernel.Measure(probe)
	kernel.CheckStacks()
}

//go:noinline
func probe() { kernel.OnReturn(probed, 1) }

// probed is called when probe returns.
func probed(arg uintptr) { kernel.CheckStacks() }

func Example_earlyHook() {
	println("the early hook's call took", deepest, "bytes")
}

package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// Crashes on another CPU than the first: the last one dies while the first waits for it. Those
// that need several CPUs have a table of their own.

// crashesOfCPUs is that table. Crash lab only.
var crashesOfCPUs = [...]crash{
	{"both", bothA, early, "the first CPU and the last one die at the same time"},
	{"all", allA, early, "all CPUs die at the same time"},
	{"spinning", spinningA, early, "the last CPU dies while all others spin with interrupts off"},
}

// runOnCPU has the last CPU crash.
func runOnCPU(run func()) {
	if last := lastCPU(); last != 0 {
		smp.Begin(last, run)
		smp.Wait(last)
		console.String("the call is over\n")
		fault.Exit(0)
	}
	console.String("crash=cpu.* needs a machine with several CPUs (zf run -smp N)\n")
	fault.Exit(2)
}

func lastCPU() uint32 { return percpu.Count() - 1 }

// gate is how many CPUs have come to awaitAll. Crash lab only.
var gate uint32

// awaitAll returns when n CPUs have called it.
func awaitAll(n uint32) {
	for was := gate; !arch.CompareAndSwap(&gate, was, was+1); was = gate {
	}
	for !arch.CompareAndSwap(&gate, n, n) {
		arch.Pause()
	}
}

//go:noinline
func bothA() {
	awaitAll(2)
	undefinedB()
	sink++
}

//go:noinline
func allA() {
	awaitAll(percpu.Count())
	undefinedB()
	sink++
}

//go:noinline
func spinningA() {
	awaitAll(percpu.Count())
	if percpu.This().Number != lastCPU() {
		idleSpin()
	}
	undefinedB()
	sink++
}

//go:noinline
func idleSpin() {
	for {
		arch.Pause()
	}
}

// runOnCPUs has the first CPU and others run a row of the table.
func runOnCPUs(c *crash) {
	if lastCPU() == 0 {
		runOnCPU(c.run)
	}
	for n := lastCPU(); n != 0; n-- {
		smp.Begin(n, c.run)
		if c.name == "both" {
			break
		}
	}
	c.run()
}

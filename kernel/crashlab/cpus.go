package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// Crashes on a CPU other than the first: the last one dies while the first waits for it. Crashes
// that need several CPUs have a table of their own.

// crashesOfCPUs is that table. Crash lab only.
var crashesOfCPUs = [...]crash{
	{"both", bothA, early, "the first CPU and the last one die at the same time"},
	{"all", allA, early, "all CPUs die at the same time"},
	{"spinning", spinningA, early, "the last CPU dies while all others spin with interrupts off"},
	{"nmi", nmiA, early, "the last CPU dies in its NMI handler, while the others spin"},
	{"nmi-stuck", nmiStuckA, early, "the first CPU dies, and the last one is in an NMI that does not return"},
	{"nmi-late", nmiLateA, early, "the last CPU dies; the first, in an NMI that does not return, dies while that one writes its trace"},
}

// runOnCPU makes the last CPU crash, a while (crash.delay=) after the others have begun to do what
// crash.others= says.
func runOnCPU(run func()) {
	last := lastCPU()
	if last == 0 {
		console.String("crash=cpu.* needs a machine with several CPUs (zf run -smp N)\n")
		fault.Exit(2)
	}
	dying = arch.EntryOf(run)
	_, ok := option.Word("crash.others")
	for n := uint32(1); n < last && ok; n++ {
		smp.Begin(n, doOther)
	}
	smp.Begin(last, dieLater)
	if ok {
		doOther()
	}
	smp.Wait(last)
	console.String("the call is over\n")
	fault.Exit(0)
}

// dying is the address of the function that dieLater calls. Crash lab only.
var dying uintptr

//go:noinline
func dieLater() {
	waste(0)
	arch.FuncAt[func()](&dying)()
	sink++
}

// doOther does what crash.others= says: spin with interrupts off, or die, too, at a time of its
// own.
//
//go:noinline
func doOther() {
	others, _ := option.Word("crash.others")
	if others == othersDie {
		waste(uint64(percpu.This().Number) + 1)
		undefinedB()
		sink++
	}
	idleSpin()
}

// othersDie is the second word of crash.others=.
const othersDie = 1

// waste runs crash.delay= turns of a loop; or, on a CPU other than the one that is to die, 0 to
// twice as many, by crash.seed= and its number.
func waste(number uint64) {
	turns, _ := option.Number("crash.delay")
	if seed, _ := option.Number("crash.seed"); number != 0 {
		x := (seed + number) * 0x9e3779b97f4a7c15
		turns = (x ^ x>>29) % (2*turns + 1)
	}
	for range turns {
		arch.Pause()
	}
}

func lastCPU() uint32 { return percpu.Count() - 1 }

// gate is the number of CPUs that have called awaitAll. Crash lab only.
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

// runOnCPUs makes the first CPU and others run a row of the table.
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

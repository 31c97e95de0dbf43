package main

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel/option"
)

// options are those of the crash lab, which the kernel reads as its own. Crash lab only.
//
//go:linkname options github.com/zeroframe/zeroframe/kernel/option.program
var options = []option.Row{
	{Name: "crash", Argument: "KIND",
		Help: "crash in this way; ? lists the kinds"},
	{Name: "crash.then", Argument: "KIND",
		Help: "the kind of crash for a boot that follows a crash; none is no crash"},
	{Name: "crash.stage", Argument: "N", Max: 9, Want: "want 1, 2 or 3",
		Help: "the panic stage in which early.nested faults too: 1, 2 or 3"},
	{Name: "crash.branches", Words: []string{"on"},
		Help: "pretend that the CPU records branches and has taken three"},
	{Name: "crash.others", Words: []string{"spin", "die"},
		Help: "what the other CPUs do while a kind cpu.* crashes: spin with interrupts off, or die by an invalid opcode at times that crash.seed= chooses; without the option they wait"},
	{Name: "crash.delay", Argument: "N", Usual: "0", Max: 1 << 30, Want: "want a number",
		Help: "how many turns of a loop a kind cpu.* waits before it crashes, and how many us go.cpu-busy waits"},
	{Name: "crash.depth", Argument: "N", Usual: "32", Max: 9999, Want: "want a number of frames",
		Help: "how many frames early.deep and early.measure have"},
	{Name: "crash.count", Argument: "N", Usual: "100", Max: 1 << 40, Want: "want a number",
		Help: "how many stacks early.random walks"},
	{Name: "crash.seed", Argument: "N", Usual: "0", Max: 1 << 40, Want: "want a number",
		Help: "the seed of the random numbers of early.random and early.wreck; go.cpu-busy dies in the kernel if it is even"},
}

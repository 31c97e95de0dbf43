package main

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// No crash but a trace at each instruction of a tree of calls that contains every kind of function
// that can mislead a walk: with a frame and without, nosplit, assembly, jumping instead of calling,
// with several exits.

//go:noinline
func stepA() {
	fault.StepTraces(everyStep)
	stepTree(3)
	fault.StepTraces(nil)
	console.String("stepped\n")
	fault.Exit(0)
}

// everyStep is the filter of the early context.
func everyStep(pc uintptr) bool { return true }

// stepTree calls itself twice until n is 0.
//
//go:noinline
func stepTree(n int) {
	if n == 0 {
		stepLeaves()
		return
	}
	stepTree(n - 1)
	sink += stepLeaf(uint64(n))
	if n > 1 {
		stepSplit(n)
		return
	}
	stepTree(0)
	sink++
}

//go:noinline
func stepLeaves() {
	sink += stepLeaf(sink) + stepNosplitA(sink)
	stepAssembly(sink)
	stepBare(sink)
	stepJump(sink)
	stepBig(int(sink & 7))
}

// stepLeaf has no frame.
//
//go:noinline
func stepLeaf(x uint64) uint64 {
	if x&1 != 0 {
		return x*3 + 1
	}
	return x >> 1
}

//go:noinline
//go:nosplit
func stepNosplitA(x uint64) uint64 { return stepNosplitB(x+1) + 1 }

//go:noinline
//go:nosplit
func stepNosplitB(x uint64) uint64 { return stepNosplitC(x+1) + 1 }

//go:noinline
//go:nosplit
func stepNosplitC(x uint64) uint64 { return stepLeaf(x) + 1 }

// stepSplit checks its stack, and has three exits.
//
//go:noinline
func stepSplit(n int) {
	if n&1 != 0 {
		sink += stepLeaf(uint64(n))
		return
	}
	if n&2 != 0 {
		sink += stepNosplitA(uint64(n))
		return
	}
	stepLeaves()
	sink++
}

// stepBig has a frame that needs the long check of the stack.
//
//go:noinline
func stepBig(i int) {
	var block [512]uint64
	block[i] = sink
	block[511-i] = stepLeaf(block[i])
	sink += block[(i+511)&511]
}

// stepAssembly has a frame and calls stepBare.
func stepAssembly(x uint64)

// stepBare has no frame, moves the stack pointer itself, and calls.
func stepBare(x uint64)

// stepJump jumps to stepTail.
func stepJump(x uint64)

func stepTail(x uint64)

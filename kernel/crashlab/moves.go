package main

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// Assembly that moves the stack pointer by hand, so that Go's pc tables do not say where
// the return address is. In each a word of the frame is an address in the text, as
// a wrong return address would be. Traced at each instruction.

//go:noinline
func movesA() {
	fault.StepTraces(everyStep)
	movesB()
	fault.StepTraces(nil)
	console.String("stepped\n")
	fault.Exit(0)
}

//go:noinline
func movesB() { movesC(sink); sink++ }

//go:noinline
func movesC(x uint64) {
	moveSub(x)
	moveBoth(x)
	moveExchange(x)
	moveStack(x)
	moveAligned(x)
	sink++
}

// moveSub subtracts from SP.
func moveSub(x uint64)

// moveBoth pushes as well, before and behind that.
func moveBoth(x uint64)

// moveExchange has SP in another register for a while.
func moveExchange(x uint64)

// moveStack goes to another stack and comes back.
func moveStack(x uint64)

// moveAligned has a frame record, and rounds SP down.
func moveAligned(x uint64)

// moveRoom is the stack that moveStack and moveExchange go to. Nothing else is on it.
// Crash lab only.
var moveRoom [64]uint64

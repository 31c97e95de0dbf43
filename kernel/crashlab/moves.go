package main

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// Assembly that moves the stack pointer by hand, so that Go's pc tables do not know where the
// return address is. In each function a word of the frame is an address in the text, as a wrong
// return address would be. Traced at each instruction.

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

// moveBoth also pushes, before and after that.
func moveBoth(x uint64)

// moveExchange holds SP in another register for a while.
func moveExchange(x uint64)

// moveStack switches to another stack and back.
func moveStack(x uint64)

// moveAligned has a frame record, and rounds SP down.
func moveAligned(x uint64)

// moveRoom is the stack that moveStack and moveExchange switch to. Nothing else uses it. Crash lab
// only.
var moveRoom [64]uint64

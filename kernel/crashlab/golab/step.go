package golab

import (
	"os"
	"reflect"

	"github.com/zeroframe/zeroframe/kernel/fault"
)

// No crash but a trace at each instruction of this file, for stacks that only the Go runtime can
// produce. The runtime itself takes tens of thousands of instructions to move a stack, so only some
// of them are traced: a few hundred of those that leave the goroutine's stack, and one in a hundred
// of the others, up to a limit. (Time goes on while traces are written, and the runtime takes the
// CPU away from a goroutine after 10 ms. If that were traced at length, the trace would show
// nothing else.)

// steppedLo and steppedHi bound the functions of this file, switchLo and switchHi the runtime's
// functions that leave a stack. Crash lab only.
var steppedLo, steppedHi, switchLo, switchHi uintptr

// lastStep is the previous instruction. Crash lab only.
var lastStep uintptr

// runtimeSteps counts instructions of the runtime, switchSteps those that leave a stack. Crash lab
// only.
var runtimeSteps, switchSteps uint

func stepGoA() {
	for _, f := range []any{stepGoB, stepOpenDefer, stepLoopDefer, stepPanics, stepGrow, stepCalls,
		stepSize.size} {
		pc := reflect.ValueOf(f).Pointer()
		if steppedLo == 0 || pc < steppedLo {
			steppedLo = pc
		}
		steppedHi = max(steppedHi, pc+256)
	}
	switchLo = morestackPC()
	switchHi = switchLo + 128
	fault.StepTraces(stepFilter)
	stepGoB()
	fault.StepTraces(nil)
	os.Stdout.WriteString("stepped\n")
	os.Exit(0)
}

// stepFilter runs in kernel context.
func stepFilter(pc uintptr) bool {
	if pc == lastStep {
		return false // REP: the flag traps each turn
	}
	lastStep = pc
	switch {
	case pc >= steppedLo && pc < steppedHi:
		return true
	case pc >= switchLo && pc < switchHi:
		switchSteps++
		return switchSteps < 400
	}
	runtimeSteps++
	return runtimeSteps%101 == 0 && runtimeSteps < 101*600
}

// morestackPC returns the entry of runtime.morestack.
func morestackPC() uintptr

//go:noinline
func stepGoB() {
	for i := range 6 {
		stepOpenDefer(i)
		stepLoopDefer(i)
		stepCalls(stepSize(i))
	}
	stepPanics()
	sink += uint64(stepGrow(3))
}

// stepOpenDefer has a deferred call that the compiler inlines at its exits.
//
//go:noinline
func stepOpenDefer(n int) {
	defer stepDeferred(n)
	if n&1 != 0 {
		defer stepDeferred(n + 1)
		return
	}
	sink++
}

//go:noinline
func stepDeferred(n int) { sink += uint64(n) }

// stepLoopDefer has deferred calls whose number only the runtime knows.
//
//go:noinline
func stepLoopDefer(n int) {
	for i := range n & 3 {
		defer stepDeferred(i)
	}
	sink++
}

// stepPanics panics, and recovers.
//
//go:noinline
func stepPanics() {
	defer func() { sink += uint64(len(recover().(string))) }()
	stepPanic("stepped")
}

//go:noinline
func stepPanic(s string) { panic(s) }

// stepGrow has a frame that fits no small stack.
//
//go:noinline
func stepGrow(n int) byte {
	var block [24 << 10]byte
	block[n] = 1
	if n > 0 {
		return stepGrow(n-1) + block[n]
	}
	return block[len(block)-1-n]
}

type sizer interface{ size() int }

type stepSize int

//go:noinline
func (s stepSize) size() int { return int(s) * 3 }

// stepCalls calls a method that it does not know and a closure.
//
//go:noinline
func stepCalls(s sizer) {
	n := s.size()
	add := func(m int) { sink += uint64(n + m) }
	stepTwice(add)
}

//go:noinline
func stepTwice(f func(int)) {
	f(1)
	f(2)
}

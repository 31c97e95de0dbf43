package main

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/tracer"
)

// Exit thunks: functions, nested and in assembly, with hooks on their return. Their traces must not
// show that return addresses were replaced.

// exitOrder is the order in which the hooks ran, a decimal digit each. Crash lab only.
var exitOrder uint64

//go:noinline
func exitHook(arg uintptr) { exitOrder = exitOrder*10 + uint64(arg) }

func onReturnA() {
	fault.StepTraces(everyStep)
	got := exitOuter(40)
	fault.StepTraces(nil)
	console.Printf("on-return: result %d, hooks ran in the order %d", got, exitOrder)
	if exitRegisters() != 0 {
		console.String(", registers were changed")
	}
	if !tracer.CalledFrom(onReturnA) && exitAsked(1) == 2 {
		console.String(", called from onReturnA")
	}
	console.String("\n")
	tracer.Dump(exitDump)
	exitPanic(1)
}

// toConsole writes to the console.
type toConsole struct{}

// exitDump is a toConsole, laid out in the source because making it at run time takes memory. Crash
// lab only.
var exitDump interface{ Write([]byte) (int, error) } = toConsole{}

func (toConsole) Write(p []byte) (int, error) { console.Bytes(p); return len(p), nil }

//go:noinline
func exitOuter(x uint64) uint64 {
	tracer.OnReturn(exitHook, 1)
	tracer.OnReturn(exitHook, 2)
	return exitInner(x) + 1
}

//go:noinline
func exitInner(x uint64) uint64 {
	tracer.OnReturn(exitHook, 3)
	return stepLeaf(x) + 1
}

//go:noinline
func exitAsked(x uint64) uint64 {
	tracer.OnReturn(exitHook, 4)
	if tracer.CalledFromName("main.onReturnA") && !tracer.CalledFromName("main.exitOuter") {
		x++
	}
	return x
}

//go:noinline
func exitPanic(x uint64) uint64 {
	tracer.OnReturn(exitHook, 5)
	return exitPanicking(x) + 1
}

//go:noinline
func exitPanicking(x uint64) uint64 {
	tracer.OnReturn(exitPanics, 6)
	sink += x
	return sink
}

// exitPanics dies in a hook, with another hook further up.
//
//go:noinline
func exitPanics(uintptr) { panic("the crash lab gave up") }

// exitRegisters calls a function in assembly that has a hook and leaves a value in each register.
// It returns 0 if all are there afterwards.
func exitRegisters() uint64

// exitAssembly is the function with the hook.
func exitAssembly()

// exitSet is called by exitAssembly with the address of its return address.
func exitSet(slot uintptr) { tracer.OnReturnAt(slot, exitHook, 7) }

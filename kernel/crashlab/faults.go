package main

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

// Crashes by what the program does: panics of compiled Go and faults. Each kind is a chain of
// functions A, B and C, and the last one dies. Their operands come from variables, so that the
// compiler cannot foresee the crash.

// Crash lab only.
var (
	nilPointer *[4]uint64
	table      = [3]uint64{1, 2, 3}
	five       = 5
	zero       = 0
	sink       uint64
)

//go:noinline
func panicA() { panicB(); sink++ }

//go:noinline
func panicB() { panicC(); sink++ }

//go:noinline
func panicC() { panic("the crash lab gave up") }

// An exitCode is a value that is not a string.
type exitCode int16

//go:noinline
func panicTypeA() { panicTypeB(); sink++ }

//go:noinline
func panicTypeB() { panicTypeC(); sink++ }

//go:noinline
func panicTypeC() { panic(exitCode(-7)) }

//go:noinline
func runtimeA() { runtimeB(); sink++ }

//go:noinline
func runtimeB() { runtimeC(five * 1000); sink++ }

// runtimeC does what code without a runtime must not do.
//
//go:noinline
func runtimeC(n int) { sink = uint64(make([]byte, n)[five]) }

//go:noinline
func kernelPanicA() { kernelPanicB(); sink++ }

//go:noinline
func kernelPanicB() { kernelPanicC(); sink++ }

//go:noinline
func kernelPanicC() { fault.Panic("the crash lab asked for it"); sink++ }

//go:noinline
func nilReadA() { nilReadB(); sink++ }

//go:noinline
func nilReadB() { nilReadC(nilPointer); sink++ }

//go:noinline
func nilReadC(p *[4]uint64) { arch.Pause(); sink = p[1] }

//go:noinline
func nilWriteA() { nilWriteB(); sink++ }

//go:noinline
func nilWriteB() { nilWriteC(nilPointer); sink++ }

//go:noinline
func nilWriteC(p *[4]uint64) { arch.Pause(); p[1] = 1 }

//go:noinline
func nilCallA() { nilCallB(); sink++ }

//go:noinline
func nilCallB() { nilCallC(); sink++ }

// nilCallC calls address 0. (Calling a nil func value would fault when it reads the code's address
// from the func value, before the call.)
//
//go:noinline
func nilCallC() { callAddress(0); sink++ }

//go:noinline
func boundsA() { boundsB(); sink++ }

//go:noinline
func boundsB() { boundsC(table[:], five); sink++ }

//go:noinline
func boundsC(s []uint64, i int) { sink = s[i] }

//go:noinline
func sliceA() { sliceB(); sink++ }

//go:noinline
func sliceB() { sliceC(table[:], five); sink++ }

//go:noinline
func sliceC(s []uint64, i int) { sink = uint64(len(s[:i])) }

//go:noinline
func divideA() { divideB(); sink++ }

//go:noinline
func divideB() { divideC(five, zero); sink++ }

//go:noinline
func divideC(a, b int) { sink = uint64(a / b) }

//go:noinline
func undefinedA() { undefinedB(); sink++ }

//go:noinline
func undefinedB() { undefinedC(); sink++ }

//go:noinline
func protectionA() { protectionB(); sink++ }

//go:noinline
func protectionB() { protectionC(0x8000_0000_0000_0000); sink++ }

//go:noinline
func protectionC(a uintptr) { arch.Pause(); sink = *(*uint64)(arch.Pointer(a)) }

//go:noinline
func readOnlyA() { readOnlyB(); sink++ }

//go:noinline
func readOnlyB() { readOnlyC(arch.EntryOf(readOnlyA)); sink++ }

//go:noinline
func readOnlyC(a uintptr) { arch.Pause(); *(*byte)(arch.Pointer(a)) = 0xc3 }

//go:noinline
func noExecA() { noExecB(); sink++ }

//go:noinline
func noExecB() { noExecC(); sink++ }

// code is a RET in data. Crash lab only.
var code = [1]byte{0xc3}

//go:noinline
func noExecC() { callAddress(uintptr(unsafe.Pointer(&code))); sink++ }

//go:noinline
func breakpointA() { breakpointB(); sink++ }

//go:noinline
func breakpointB() { breakpointC(); sink++ }

//go:noinline
func doubleA() { doubleB(); sink++ }

//go:noinline
func doubleB() {
	arch.CloseTrap(arch.TrapDivide)
	doubleC()
	sink++
}

//go:noinline
func leafA() { leafB(); sink++ }

//go:noinline
func leafB() { leafC(nilPointer); sink++ }

// leafC calls nothing and has no variables on the stack: the compiler gives it
// no frame.
//
//go:noinline
func leafC(p *[4]uint64) { p[2] = 1 }

//go:noinline
func tripleA() { tripleB(); sink++ }

//go:noinline
func tripleB() { tripleC(); sink++ }

//go:noinline
func tripleC() { arch.ResetCPU(); sink++ }

// Written in assembly (faults_amd64.s).

func callAddress(a uintptr)
func undefinedC()
func breakpointC()
func doubleC()

package golab

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// Faults in goroutines and in the runtime.

// nowhere is an address of a program at which there is nothing.
const nowhere = 0x0dea_d000_0000

//go:noinline
func divideAsmA() { divideAsmB(); sink++ }

//go:noinline
func divideAsmB() { divideAsmC(); sink++ }

//go:noinline
func wildA() { wildB(); sink++ }

//go:noinline
func wildB() { wildC(nowhere); sink++ }

//go:noinline
func wildC(a uintptr) { arch.Pause(); sink = *(*uint64)(arch.Pointer(a)) }

//go:noinline
func faultInDeferA() { faultInDeferB(); sink++ }

//go:noinline
func faultInDeferB() { faultInDeferC(); sink++ }

//go:noinline
func faultInDeferC() {
	defer faultDeferred()
	sink++
}

//go:noinline
func faultDeferred() { arch.Pause(); nilPointer[1] = 1 }

// device is what the driver works with: here it is a pipe. Crash lab only.
var device *os.File

// driverA starts a driver, which waits for its device, and faults when it looks at what has
// arrived.
func driverA() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	device = r
	go driverLoop()
	time.Sleep(20 * time.Millisecond) // it waits now
	w.Write([]byte{1})
	select {}
}

//go:noinline
func driverLoop() {
	var b [16]byte
	for {
		n, err := device.Read(b[:])
		if err != nil {
			panic(err)
		}
		driverEvent(b[:n])
	}
}

//go:noinline
func driverEvent(b []byte) { driverC(nilPointer, b[0]); sink++ }

//go:noinline
func driverC(p *[4]uint64, b byte) { arch.Pause(); p[3] = uint64(b) }

//go:noinline
func runtimeFaultA() { runtimeFaultB(); sink++ }

//go:noinline
func runtimeFaultB() { runtimeFaultC(map[string]int{"key": five}, 64); sink++ }

// runtimeFaultC makes the runtime look up a string whose bytes are not mapped.
//
//go:noinline
func runtimeFaultC(m map[string]int, n int) {
	sink = uint64(m[unsafe.String((*byte)(arch.Pointer(nowhere)), n)])
}

//go:noinline
func systemStackA() { systemStackB(); sink++ }

//go:noinline
func systemStackB() {
	b, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	systemStackC((*runtime.MemStats)(unsafe.Pointer(&b[0])))
	sink++
}

// systemStackC makes the runtime write to memory that cannot be written. The runtime does that on
// the stack of g0, while the world is stopped.
//
//go:noinline
func systemStackC(m *runtime.MemStats) { runtime.ReadMemStats(m); sink++ }

// Written in assembly (faults_amd64.s).

func divideAsmC()

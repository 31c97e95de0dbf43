package golab

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// Fatal errors of the runtime, and the end of the memory.

//go:noinline
func overflowA() { overflowB(); sink++ }

//go:noinline
func overflowB() { overflowC(zero); sink++ }

// overflowC calls itself until there is no stack left.
//
//go:noinline
//lint:ignore SA5007 the stack is to end
func overflowC(n int) { overflowC(n + 1); sink += uint64(n) }

//go:noinline
func mutualA() { mutualB(); sink++ }

//go:noinline
func mutualB() { mutualC(zero); sink++ }

// mutualC and mutualD call each other until there is no stack left.
//
//go:noinline
func mutualC(n int) { mutualD(n + 1); sink += uint64(n) }

//go:noinline
func mutualD(n int) { mutualC(n + 1); sink -= uint64(n) }

//go:noinline
func deadlockA() { deadlockB(); sink++ }

//go:noinline
func deadlockB() { deadlockC(make(chan int)); sink++ }

//go:noinline
func deadlockC(c chan int) { sink = uint64(<-c) }

// contested is a map with two writers. A write compares keys, which takes a while: the comparison
// is the compiler's code, not the runtime's, so the CPU can be taken away there. Crash lab only.
var contested map[key]int

type key [64]float64

func mapWritesA() {
	contested = map[key]int{}
	go mapWriterA()
	go mapWriterA()
	select {}
}

//go:noinline
func mapWriterA() { mapWriterB(); sink++ }

//go:noinline
func mapWriterB() { mapWriterC(contested); sink++ }

//go:noinline
func mapWriterC(m map[key]int) {
	for i := 0; ; i++ {
		m[key{len(key{}) - 1: float64(i & 3)}] = i
	}
}

//go:noinline
func unlockA() { unlockB(); sink++ }

//go:noinline
func unlockB() { unlockC(new(sync.Mutex)); sink++ }

//go:noinline
func unlockC(m *sync.Mutex) { m.Unlock(); sink++ }

//go:noinline
func goexitMainA() { goexitMainB(); sink++ }

//go:noinline
func goexitMainB() { goexitMainC(); sink++ }

//go:noinline
func goexitMainC() { runtime.Goexit(); sink++ }

// hoard keeps what oomC allocates. Crash lab only.
var hoard [][]byte

//go:noinline
func oomA() {
	// The collector would only obscure who is to blame.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	oomB()
	sink++
}

//go:noinline
func oomB() { oomC(); sink++ }

//go:noinline
func oomC() {
	for {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = byte(five)
		}
		hoard = append(hoard, b)
	}
}

//go:noinline
func oomHugeA() { oomHugeB(); sink++ }

//go:noinline
func oomHugeB() { oomHugeC(five << 40); sink++ }

//go:noinline
func oomHugeC(n int) { hoard = append(hoard, make([]byte, n)) }

//go:noinline
func signalSEGVA() { signalB(syscall.SIGSEGV); sink++ }

//go:noinline
func signalABRTA() { signalB(syscall.SIGABRT); sink++ }

//go:noinline
func signalKILLA() { signalB(syscall.SIGKILL); sink++ }

//go:noinline
func signalB(s syscall.Signal) { signalC(s); sink++ }

//go:noinline
func signalC(s syscall.Signal) {
	syscall.Kill(syscall.Getpid(), s)
	time.Sleep(time.Minute)
}

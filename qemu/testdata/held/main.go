// Goroutines on all CPUs count, for ../../netnmi_test.go: do they go on while the trace of an NMI is
// written?
package main

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/fault"
)

var (
	count  atomic.Uint64
	during atomic.Uint64 // how far they counted while the first trace was written
	looked atomic.Bool
)

func main() {
	fault.OnPanic(look)
	for range runtime.NumCPU() - 1 {
		go func() {
			for {
				count.Add(1)
			}
		}()
	}
	for count.Load() < 10_000_000 { // without a call: a CPU that waits for the kernel does not count
	}
	fmt.Println("counting")
	for !looked.Load() {
	}
	fmt.Println("counted meanwhile:", during.Load())
}

// look runs when a trace has begun, in kernel context.
func look(s fault.Stage) {
	if s != fault.StageFull || looked.Load() {
		return
	}
	before := count.Load()
	for range 100_000 {
		arch.Pause()
	}
	during.Store(count.Load() - before)
	looked.Store(true)
}

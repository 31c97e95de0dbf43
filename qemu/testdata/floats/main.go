// Command floats dies while another thread has known values in the XMM registers.
package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spin loads 2.5 into X0, -0.125 into X7 and two words into X14, sets ready, and goes round forever.
//
//go:noescape
func spin(ready *uint32)

func main() {
	runtime.GOMAXPROCS(2) // spin never gives its own away
	var ready uint32
	go spin(&ready)
	for atomic.LoadUint32(&ready) == 0 {
		time.Sleep(time.Millisecond)
	}
	panic("floats")
}

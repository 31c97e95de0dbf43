package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
)

// steer writes and reads a file n times, on the second CPU, while a thread on the first one spins: the
// interrupts of the device that the file is behind had better come to the second one.
func steer(n int, path string) {
	var over atomic.Bool
	ready := make(chan bool)
	go func() {
		pin(0)
		close(ready)
		for !over.Load() {
		}
	}()
	<-ready
	runtime.LockOSThread()
	if e := setAffinity(0, 1<<1); e != 0 {
		wrong("sched_setaffinity: %v", e)
	}
	for i := range n {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			wrong("%v", err)
		}
		if _, err := fmt.Fprint(f, i); err != nil {
			wrong("%v", err)
		}
		f.Close()
		if b, err := os.ReadFile(path); err != nil || string(b) != fmt.Sprint(i) {
			wrong("%q, %v; want %d", b, err, i)
		}
	}
	over.Store(true)
	fmt.Println("files", n)
}

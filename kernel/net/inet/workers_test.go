package inet

import (
	"runtime"
	"testing"
)

// TestWorkers: work that waits for other work gets a goroutine of its own, and one that is idle is
// used again.
func TestWorkers(t *testing.T) {
	w := workers{failure: new(failure), next: make(chan func())}
	const n = 3 * idleWorkers
	begun, end := make(chan bool), make(chan bool)
	for range n {
		w.do(func() { begun <- true; <-end })
	}
	for range n {
		<-begun // all of them at once
	}
	close(end)
	again := make(chan bool)
	for range n {
		w.next <- func() { again <- true } // taken by those that are idle alone
		<-again
	}
	for w.idle.Load() != idleWorkers {
		runtime.Gosched()
	}
}

package inet

import "sync/atomic"

// idleWorkers is how many wait for work at most.
const idleWorkers = 16

// workers are goroutines that do one thing after the other. The stack of a new one grows in several
// steps until it has room for what a connection needs, which takes as long as much of the rest.
type workers struct {
	failure *failure
	next    chan func()
	idle    atomic.Int32
}

// do has a goroutine call f.
func (w *workers) do(f func()) {
	select {
	case w.next <- f:
	default:
		go w.failure.guard(func() { w.work(f) })
	}
}

func (w *workers) work(f func()) {
	for f(); w.idle.Add(1) <= idleWorkers; f() {
		f = <-w.next
		w.idle.Add(-1)
	}
	w.idle.Add(-1)
}

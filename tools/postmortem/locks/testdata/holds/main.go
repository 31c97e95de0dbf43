// Command holds has functions that take and give back locks in many ways. Each calls here where
// the test asks what it holds.
package main

import (
	"os"
	"sync"
)

var (
	a, b, c sync.Mutex
	rw      sync.RWMutex
	byPtr   = &c
	n       = len(os.Args)
)

//go:noinline
func here() { n++ }

//go:noinline
func plain() {
	a.Lock()
	here()
	a.Unlock()
}

//go:noinline
func after() {
	a.Lock()
	a.Unlock()
	here()
}

//go:noinline
func deferred() {
	a.Lock()
	defer a.Unlock()
	here()
}

//go:noinline
func deferredClosure() {
	a.Lock()
	defer func() {
		n--
		a.Unlock()
	}()
	b.Lock()
	b.Unlock()
	here()
}

//go:noinline
func inBranch() {
	if n > 1 {
		a.Lock()
	}
	here()
	if n > 1 {
		a.Unlock()
	}
}

//go:noinline
func inBoth() {
	if n > 1 {
		a.Lock()
		n++
	} else {
		a.Lock()
		n--
	}
	here()
	a.Unlock()
}

//go:noinline
func early() {
	a.Lock()
	if n > 5 {
		a.Unlock()
		return
	}
	here()
	a.Unlock()
}

//go:noinline
func loop() {
	for range n {
		a.Lock()
		n++
		a.Unlock()
	}
	b.Lock()
	for range n {
		here()
	}
	b.Unlock()
}

//go:noinline
func try() {
	if a.TryLock() {
		here()
		a.Unlock()
	}
}

//go:noinline
func reads() {
	rw.RLock()
	rw.RLock()
	rw.RUnlock()
	here()
	rw.RUnlock()
}

//go:noinline
func writes() {
	rw.Lock()
	here()
	rw.Unlock()
}

//go:noinline
func take(m *sync.Mutex) { m.Lock() }

//go:noinline
func give(m *sync.Mutex) { m.Unlock() }

//go:noinline
func wrapped() {
	take(&a)
	take(&b)
	give(&a)
	here()
	give(&b)
}

//go:noinline
func byPointer() {
	byPtr.Lock()
	here()
	byPtr.Unlock()
}

//go:noinline
func ofCaller() {
	a.Unlock()
	here()
	a.Lock()
}

//go:noinline
func cases() {
	a.Lock()
	switch n {
	case 1:
		n += 10
	case 2:
		n += 20
	case 3:
		n += 31
	case 4:
		n += 44
	case 5:
		n += 57
	case 6:
		n += 61
	case 7:
		n *= 71
	case 8:
		n += 83
	case 9:
		a.Unlock()
		return
	}
	here()
	a.Unlock()
}

func main() {
	for _, f := range []func(){plain, after, deferred, deferredClosure, inBranch, inBoth, early, loop, try, reads, writes,
		wrapped, byPointer, ofCaller, cases} {
		f()
	}
}

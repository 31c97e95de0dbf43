package thread

import "unsafe"

// Event is what happens to a thread.
type Event uint8

// The events.
const (
	Began Event = iota
	Ended
	Waits // from now on, as Why and Key say
	Woken // it waits no more, as Why and Key have said
)

// onEvent is the address of a function; set once at boot.
var onEvent uintptr

// OnEvent sets a function that is called for each event. deadline is when a wait ends, in ns of
// the clock, or ^0. Who ends a wait is who runs then: the thread that wakes, or nobody, in the
// timer's interrupt. It must be a top-level function. Early context.
func OnEvent(f func(e Event, t *Thread, deadline uint64)) {
	onEvent = **(**uintptr)(unsafe.Pointer(&f))
}

// Not inlined, so that what it calls has one place (tools/stacks/kernel.txt).
//
//go:noinline
func callOnEvent(e Event, t *Thread, deadline uint64) {
	p := &onEvent
	(*(*func(Event, *Thread, uint64))(unsafe.Pointer(&p)))(e, t, deadline)
}

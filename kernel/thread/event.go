package thread

import "github.com/zeroframe/zeroframe/arch"

// Event is what happens to a thread.
type Event uint8

// The events.
const (
	Began Event = iota
	Ended
	Waits // from now on, as Why and Key say
	Woken // it no longer waits for Why and Key
)

// onEvent is the address of a function; set once at boot.
var onEvent uintptr

// OnEvent sets a function that is called for each event. deadline is when a wait ends, in ns of the
// clock, or ^0. The thread that ends a wait is the current one then; in the timer's interrupt there
// may be none. f must be a top-level function. Early context.
func OnEvent(f func(e Event, t *Thread, deadline uint64)) {
	onEvent = arch.EntryOf(f)
}

// Not inlined, so that the call is in one place (tools/symbol/stacks/kernel.txt).
//
//go:noinline
func callOnEvent(e Event, t *Thread, deadline uint64) {
	arch.FuncAt[func(Event, *Thread, uint64)](&onEvent)(e, t, deadline)
}

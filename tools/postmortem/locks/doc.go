// Package locks says which mutexes a stack frame holds, by the machine code of its function.
//
// A sync.Mutex does not know who has locked it. The code does: a frame that stands between a
// call of Lock and the Unlock of the same mutex, on every way that leads there, holds it. So
// each function with a frame on a stack is gone through from its entry, on all ways at once, with
// the addresses that registers and stack words hold as expressions. At the pc of the frame what
// is locked then is an expression too, and the frame's own words say which address that is.
//
//	New            a file -> a Program
//	Program.At     a pc -> a Point, with the locks that are held there
//	Point.Address  a lock of it -> the mutex's address, by the words of the frame and its callers
//	Point.Of       the same for an operation on a channel that the frame may come to
//	Program.Spins  whether a goroutine that runs is in a loop that only waits
//
// The code does not name the function of a call through an interface, a method value or a closure.
// The word that led there is an expression too: where a frame or its callers still have it, the
// function is gone through once more with the functions that were called.
//
// What is not certain is said to be so: a lock that only some of the ways take (Held.Must), an
// address that the frame has not kept, a lock behind whose taking something was called that is not
// known. Taken for granted is that a function called by its name gives back no lock of its caller
// through a pointer that is not known; that a goroutine gives back no lock of another one, unless
// that one has started it; and that a pointer in memory through which a mutex was locked still
// points there, unless the function that locked it has written to it.
//
// Context: the host; code for the 64-bit x86.
//
// In the order of reading:
//
//	locks.go     a program, a point in it, what is held there
//	function.go  what is known of locks before an instruction
//	events.go    which instructions take and give back a lock
//	summary.go   calls of functions that do it for their caller
//	operations.go  channels, groups, conditions: what a frame may still come to
//	spin.go      loops that wait for a variable
package locks

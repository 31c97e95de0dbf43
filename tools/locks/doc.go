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
//	Point.Address  a lock of it and the frame's words -> the mutex's address
//	Point.Of       the same for an operation on a channel that the frame may come to
//	Program.Spins  whether a goroutine that runs is in a loop that only waits
//
// What is not certain is said to be so: a lock that only some of the ways take (Held.Must), an
// address that the frame has not kept. Two things are taken for granted: that a function called
// through a pointer gives back no lock of its caller, and that a pointer in memory through which
// a mutex was locked still points there.
//
// Context: the host; code for the 64-bit x86.
//
// In the order of reading:
//
//	locks.go     a program, a point in it, what is held there
//	value.go     what a register holds, as an expression
//	state.go     what is known before an instruction
//	function.go  a function's instructions and blocks
//	flow.go      the way through a function
//	step.go      what an instruction writes
//	events.go    which instructions take and give back a lock
//	summary.go   calls of functions that do it for their caller
//	operations.go  channels, groups, conditions: what a frame may still come to
//	spin.go      loops that wait for a variable
package locks

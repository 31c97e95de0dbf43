// Package probe counts and times calls of functions in the running program, by
// breakpoints: one at each function's entry and one at each of its ways out.
//
// The host has chosen the functions and decoded them (package tools/probe), and sends a
// table of places in the boot archive ([File]). Before the program starts an INT3 is
// written over the first byte of the instruction at each place. When one is met, the
// package notes what it is for, does what the instruction would have done, and lets the
// program go on. The few instructions that compilers put at these places are emulated
// (PUSH RBP, RET, JMP); any other is put back for the time of one step with the trap
// flag, interrupts off, while all other CPUs stand still (package fault). Either way the
// program never runs at an address that is not its own, so signals, traces and profiles see
// nothing.
//
// Nothing on a stack is changed. Which return belongs to which entry is told by the place
// of the return address: counted from the upper end of the goroutine's stack, since that
// moves. Calls that are open are kept as a stack for each goroutine. Whatever lies below a
// place at which the program enters or leaves a function is gone: those calls have ended by
// a panic or by runtime.Goexit, and are counted so.
//
// The memory is taken at boot and never grows. When there are more calls open than it has
// room for, calls are still counted exactly, but not timed, and that is counted too.
//
// Times are ticks of the time stamp counter from entry to way out, waiting and preemption
// included; the time that this package itself takes meanwhile is left out, but for calls that return on
// another CPU than they began on, and for what other CPUs do meanwhile.
//
// Context: [Start] early, all else kernel.
//
// In the order of reading:
//
//	table.go   the places, as the host sends them
//	hit.go     what happens at a breakpoint
//	frames.go  the calls that are open
//	counts.go  what is counted
//	report.go  the counts, written
package probe

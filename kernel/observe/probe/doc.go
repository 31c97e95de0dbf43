// Package probe counts and times calls of functions in the running program, with breakpoints: one
// at each function's entry and one at each of its exits.
//
// The host chooses the functions and decodes them (package tools/format/probe), and sends a table
// of places in the boot archive ([File]). Before the program starts, an INT3 replaces the first
// byte of the instruction at each place. When one is hit, the package records the event, does what
// the instruction would have done, and lets the program go on. The few instructions that compilers
// put at these places are emulated (PUSH RBP, RET, JMP); any other is put back for one step with
// the trap flag, interrupts off, while all other CPUs stand still (package fault). Either way the
// program never runs at an address that is not its own, so signals, traces and profiles notice
// nothing.
//
// Nothing on a stack is changed. The place of the return address tells which return belongs to
// which entry; it is counted from the upper end of the goroutine's stack, because that moves. Open
// calls are kept as a stack for each goroutine. When the program enters or leaves a function, all
// open calls below that place are gone: they have ended by a panic or by runtime.Goexit, and are
// counted as such.
//
// The memory is taken at boot and never grows. When more calls are open than fit, calls are still
// counted exactly, but not timed, and the untimed ones are counted, too.
//
// Times are ticks of the time stamp counter from entry to exit, including waiting and preemption.
// The time that this package itself takes meanwhile is left out, except for calls that return on
// another CPU than they began on, and except for what other CPUs do meanwhile.
//
// Context: [Start] early, everything else kernel.
//
// In the order of reading:
//
//	table.go   the places, as the host sends them
//	hit.go     what happens at a breakpoint
//	frames.go  the calls that are open
//	counts.go  what is counted
//	report.go  the counts, written
package probe

// Package console is the first serial port, or the screen, and the few functions with which
// kernel-context code writes text to it. It polls and takes no lock, so it works in every context,
// including the panic path; it allocates nothing and imports the tracer only for its digits.
//
//	console.go  the functions, to COM1, to the screen or to both
//	port.go     a second, faster way out for programs' output
//	input.go    the input
//	tail.go     the last bytes, for the boot after a crash
package console

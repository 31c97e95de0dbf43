// Package console is the first serial port, or the screen, and the few verbs by which
// kernel-context code writes text to it. It is polled and takes no lock, so it
// works in every context, the panic path included; it allocates nothing and
// imports the tracer for its digits only.
//
//	console.go  the verbs, to COM1, to the screen or to both
//	port.go     a second, faster way out for what programs write
//	input.go    what is typed
//	tail.go     the last bytes, for who comes after a crash
package console

// Package memdump sends the memory of a machine that has died, if the option core= says so: by UDP to
// where netconsole= sends (core=net), or by the second serial port (core=com2). With core=ram it stays in RAM over a
// reset, and the next boot sends it, either way. The form of what is sent, and kept, is package tracer/dump's.
//
//	dump.go    the options; run, which is called when all traces are out
//	pages.go   which pages there are, those of most worth first
//	items.go   pages and all else that is sent, one packet at a time
//	hidden.go  what the program has marked as secret (package secret)
//	key.go     the receiver's key, and what it is encrypted with
//	send.go    by network: the window, and what is sent again
//	com2.go    by the second serial port
//	keep.go    what is left in RAM for the next boot
//	kept.go    what the boot before has left, and what of it is lost
//
// It runs in the panic path, behind all else: no trace waits for it. It allocates nothing, takes
// no lock, and writes to no memory but its own, so that what it sends is what was there; but core=ram overwrites
// secrets. Memory is
// read as the program's is, which may fault; should it fault elsewhere, that ends it
// (kernel/fault/dump.go). Each wait in it has an end.
//
// It imports arch, kernel/fault, kernel/mem, kernel/stack, kernel/goinfo and kernel/net/netconsole.
package memdump

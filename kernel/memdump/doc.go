// Package memdump sends the memory of a machine that has died, if the option core= says so: by UDP
// to netconsole='s receiver (core=net), or by the second serial port (core=com2). With core=ram the
// memory stays in RAM over a reset, and the next boot sends it in one of the two ways. Package
// tracer/dump defines the format of what is sent and kept.
//
//	dump.go    the options; run, which is called when all traces are out
//	pages.go   the pages, the most useful first
//	items.go   pages and everything else that is sent, one packet at a time
//	hidden.go  what the program has marked as secret (package secret)
//	key.go     the receiver's key, and the encryption with it
//	send.go    by network: the window, and sending again
//	com2.go    by the second serial port
//	keep.go    what is left in RAM for the next boot
//	kept.go    what the previous boot has left, and which of it is lost
//
// It runs in the panic path, after everything else, so no trace waits for it. It allocates nothing,
// takes no lock, and writes only to its own memory, so that it sends the memory as it was; but
// core=ram overwrites secrets. It reads memory with loads that may fault; a fault anywhere else
// ends the dump (kernel/fault/dump.go). Each wait in it is bounded.
//
// It imports arch, kernel/fault, kernel/mem, kernel/stack, kernel/goinfo and kernel/net/netconsole.
package memdump

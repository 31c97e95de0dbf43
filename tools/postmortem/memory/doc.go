// Package memory reads the memory of a machine that has stopped, from whatever has it: by
// physical addresses, and through the page tables by those that the machine itself used.
//
//	physical.go   memory by physical addresses, and the registers that come with it
//	space.go      the walk of the page tables: ReadAt by virtual addresses
//	dump.go       a dump: what QEMU's dump-guest-memory writes, or RAM byte by byte
//	qemunotes.go  the notes of QEMU's dump: the registers
//	store.go      a copy of the RAM in a sparse file
//	gdb.go        a machine behind a gdb stub
//	gdbregs.go    its registers, as it describes them
//	run.go        such a machine, run in pieces
//
// Dumps, page tables and stubs are what others have made: one that is cut, damaged or hostile gives
// an error or less memory, and costs time and memory in proportion to its size.
//
// The package imports nothing of Zeroframe. Context: the host.
package memory

// Crashlab is a kernel that dies in every way a kernel can die, on request:
//
//	zf run -append crash=early.nil-write ./kernel/crashlab
//
// Each kind runs through at least three functions of its own, none of them inlined, so that the
// chain of functions in its trace is known beforehand. The prefix of a kind is the context in which
// it dies. An unknown kind lists all kinds.
//
// In the order of reading:
//
//	main.go         the table of kinds, and the choice; those of goroutines alone are in golab/
//	options.go      the options crash= and crash.*
//	faults.go       panics of compiled Go, and faults
//	stacks.go       damaged stacks: overflows, broken chains
//	random.go       random stacks, walked
//	randomimage.go  the layout of the random stacks
//	wreck.go        random registers
//	exits.go        functions whose return address is replaced
//	step.go         a trace at each instruction
//	moves.go        the same for assembly that moves the stack pointer by hand
//	branches.go     branch records, for a CPU that has none
//	cpus.go         deaths of other CPUs than the first
//	cpunmi.go       deaths of CPUs that are in an NMI
//	cpustart.go     deaths in a CPU's first instructions
//	nested.go       faults inside the panic path
//	network.go      a fault while the trace, or the memory, is sent by network
//	measure.go      watermarks, measured
//	repeat.go       the same trace, many times
package main

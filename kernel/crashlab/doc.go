// Crashlab is a kernel that dies in every way a kernel can die, on request:
//
//	zf run -append crash=early.nil-write ./kernel/crashlab
//
// Each kind runs through at least three functions of its own, none of them
// inlined, so that the chain of functions in its trace is known beforehand. The
// prefix of a kind is the context it dies in. An unknown kind lists the kinds.
//
// In the order of reading:
//
//	main.go         the table of kinds, and the choice; those of goroutines alone are in golab/
//	faults.go       panics of compiled Go, and faults
//	stacks.go       what has become of a stack: overflows, broken chains
//	random.go       random stacks, walked
//	randomimage.go  how these are laid out
//	wreck.go        random registers
//	exits.go        functions whose return address is replaced
//	step.go         a trace at each instruction
//	moves.go        the same of assembly that moves the stack pointer by hand
//	branches.go     records of branches, for a CPU that has none
//	cpus.go         deaths of other CPUs than the first
//	cpunmi.go       those of CPUs that are in an NMI
//	cpustart.go     those in a CPU's first instructions
//	nested.go       faults inside the panic path
//	network.go      a fault while the trace, or the memory, is sent by network
//	measure.go      watermarks, measured
//	repeat.go       the same trace, many times
package main

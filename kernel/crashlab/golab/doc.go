// Package golab is the part of the crash lab that dies under the Go runtime: in a
// goroutine, in the runtime itself, or in the kernel on behalf of a goroutine. It is
// ordinary Go; only what it says so of runs in kernel context.
//
// Each kind is a chain of functions A, B and C, of which the last dies, as those of the
// early context are.
//
//	golab.go      the table of kinds
//	panics.go     panics of compiled Go
//	throws.go     what the runtime gives up over, and signals
//	faults.go     faults of goroutines, and where the runtime runs
//	badpointer.go system calls with bad pointers
//	alive.go      programs that do not die: they spin, hang, sleep, exit
//	busy.go       all CPUs are busy, and the last one dies
//	kernelbug.go  the kernel dies on behalf of a goroutine
//	cpus.go       other CPUs than the first
//	step.go       a trace at each instruction
//	stepentry.go  the same of the kernel's entries
package golab

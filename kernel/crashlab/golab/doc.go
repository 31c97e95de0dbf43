// Package golab is the part of the crash lab that dies under the Go runtime: in a goroutine, in the
// runtime itself, or in the kernel on behalf of a goroutine. It is ordinary Go; only functions that
// say so run in kernel context.
//
// Each kind is a chain of functions A, B and C, and the last one dies, as in the early context.
//
//	golab.go      the table of kinds
//	panics.go     panics of compiled Go
//	throws.go     fatal errors of the runtime, and signals
//	faults.go     faults of goroutines and of the runtime
//	badpointer.go system calls with bad pointers
//	alive.go      programs that do not die: they spin, hang, sleep, exit
//	busy.go       all CPUs are busy, and the last one dies
//	kernelbug.go  the kernel dies on behalf of a goroutine
//	cpus.go       other CPUs than the first
//	step.go       a trace at each instruction
//	stepentry.go  the same for the kernel's entries
package golab

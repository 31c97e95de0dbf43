// Package smp starts the other CPUs and has them call functions. The one that boots is CPU 0; the
// others wait for what they are to call, until that is to run the program's threads (thread.Join).
//
//	find.go     which CPUs there are
//	start.go    how they start
//	call.go     what they do then
//	compare.go  whether their counters of time are one
//
// It imports percpu, stack, mem, clock, option and console. Early and kernel context. Package
// kernel and package crashlab import it.
package smp

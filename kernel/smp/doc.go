// Package smp starts the other CPUs and makes them call functions. The CPU that boots is CPU 0; the
// others wait for functions to call, until they run the program's threads (thread.Join).
//
//	find.go     finding the CPUs
//	start.go    starting them
//	call.go     what they do then
//	compare.go  comparing their counters of time
//
// It imports percpu, stack, mem, clock, option and console. Early and kernel context. Packages
// kernel and crashlab import it.
package smp

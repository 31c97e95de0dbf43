// Package percpu is one CPU's own data: what each CPU has for itself, in one record. The
// per-CPU pointer (on amd64, the GS base) leads to the record. The entry of a system call
// hands it to the handler; other code asks for it.
//
// It imports arch and nothing else of Zeroframe. Early and kernel context: a goroutine may
// change its CPU between asking for the record and using it.
//
//	percpu.go         the record
//	ring.go           the latest events
//	lock.go           the kernel lock
//	lockcheck_on.go   asserts that the CPU has it (build tag lockcheck)
//	lockcheck_off.go  does not
//	flush.go          what other CPUs have kept of page tables
//
// model_test.go and the files that it lists explore the protocols between CPUs exhaustively.
//
// Package percputest is for tests on the host.
//
// The comment of each other variable of the kernel says who may write to it. What is one per
// CPU by nature and not in the record yet, by package:
//
//	mem: fillers
//	observe/stackid: packed trustedFS trustedG
//	percpu: first
//	stack: Frames Table Walker area startA startB traced
//
// "Under the kernel lock" is what only the CPU that has the lock reads and writes, where threads
// run on several; with one, it is enough that interrupts are off. It is the only lock, and nothing
// else is taken within it. Who writes to it calls AssertLocked, or is called by who does
// (kernel/lockcheck_test.go). "Under the kernel lock; the panic path takes none" is what a crash on
// one CPU may find half-written by another: the console, the screen, the network card, the event
// stream.
package percpu

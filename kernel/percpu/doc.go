// Package percpu is each CPU's own data, in one record. The per-CPU pointer (on amd64, the GS base)
// leads to the record. The entry of a system call passes it to the handler; other code calls This.
//
// It imports only arch. Early and kernel context: a goroutine may change its CPU between getting
// the record and using it.
//
//	percpu.go         the record
//	ring.go           the latest events
//	lock.go           the kernel lock
//	lockcheck_on.go   asserts that the CPU has it (build tag lockcheck)
//	lockcheck_off.go  the same without the check
//	flush.go          page-table entries that other CPUs have cached
//
// model_test.go and the files that it lists explore the protocols between CPUs exhaustively.
//
// Package percputest is for tests on the host.
//
// The comment of each other variable of the kernel says who may write to it. These are one per CPU
// by nature and not in the record yet, by package:
//
//	mem: fillers
//	observe/stackid: packed trustedFS trustedG
//	percpu: first
//	stack: Frames Table Walker area startA startB traced
//
// "Under the kernel lock" means that only the CPU with the lock reads and writes the variable, if
// threads run on several CPUs; with one CPU, it is enough that interrupts are off. It is the only
// lock. A function that writes such a variable calls AssertLocked, or is called by one that does
// (kernel/lockcheck_test.go). "Under the kernel lock; the panic path takes none" means that a crash
// on one CPU may find the variable half-written by another: the console, the screen, the network
// card, the event stream.
package percpu

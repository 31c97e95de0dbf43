// Package handle logs who opens and who closes resources that a program may leak: page frames,
// mappings, file descriptors, threads, timers, waits for a futex, and kinds of the program's own.
// Each event has the stack of the code that asked, through the system call into the program, so `zf
// handles` can say who opened what is open, and show both closes of what was closed twice.
// Everything is in fixed memory. Until the option record= of the kernel command line names a kind,
// nothing is done but [Logs]: one load, one test and one branch that always goes the same way.
//
// There are two stores. The ring has the latest events of all kinds. The table has what is open
// now, however long ago it was opened, with the stack that opened it. Closed entries stay in it
// until the room is needed, so that a second close finds the first.
//
// The files:
//
//	kind.go     kinds and events
//	log.go      the one call by which events are logged, and the ring
//	table.go    what is open now
//	maps.go     mappings, which can be closed in parts
//	snapshot.go everything as a record on the wire
//	heap.go     the heap profile of Go's runtime
//	call.go     the same for goroutines, by a system call
//
// Early and kernel context, with interrupts off, unless a function says otherwise. Package mem and
// nearly everything above import it, so it imports little.
package handle

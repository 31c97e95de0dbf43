// Package handle logs who takes and who gives back what a program leaks: page frames,
// mappings, file descriptors, threads, timers, waits for a futex, and kinds of the
// program's own. Each event has the stack of who asked, through the system call into
// the program, so `zf handles` can say who opened what is open, and for what was closed
// twice, both closes. All is in fixed memory, and nothing is done until the option
// record= of the kernel command line names a kind: then [Logs] is one load, one test and
// one branch that is always the same.
//
// There are two stores. The ring has the latest events, whatever they are about. The
// table has what is open now, however long ago that was, with the stack that opened it;
// what was closed stays in it, too, until the room is needed, and so a second close
// finds the first.
//
// What is here:
//
//	kind.go     kinds and events
//	log.go      the one call by which events are logged, and the ring
//	table.go    what is open now
//	maps.go     mappings, of which parts can go
//	snapshot.go all of it as a record on the wire
//	heap.go     the heap profile of Go's runtime
//	call.go     the same for goroutines, by a system call
//
// Early and kernel context, with interrupts off, unless a function says otherwise. It is
// imported by package mem and nearly everything above, so it imports little.
package handle

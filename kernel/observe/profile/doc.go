// Package profile is the kernel's sampling profiler: so many times in each second of
// running time, the timer's interrupt notes where the program is (option profile=HZ), and
// at its end, or when it is asked, the counts leave as a record of the kind [Kind]
// (package tools/profile reads it).
//
// A sample is a stack's ID (package kernel/observe/stackid) and a count. It is of running time, of each CPU's own:
// while the machine is idle none is due, nor while a sample is taken. The program is seen at every instruction. The
// kernel runs with interrupts off, and is seen when it is left: a tick that falls due in a
// system call is taken right after it, and counted for that call, with its number as the
// innermost frame and the caller's stack below. The weight of a sample is the number of
// ticks that were due, so a call that takes long counts for as long, also when another
// thread runs behind it. What the kernel does within a call is not told, nor whether page
// faults were the reason why an instruction took its time.
//
// Where the program runs, nothing keeps a tick's interrupt from coming. If it comes late all
// the same, by a millisecond and a tick or more, the host has stalled the machine. One tick is counted
// then, where the program is; where it was at the others nobody knows, so they are in no
// stack. A call is counted for all of its ticks, but whether it took long or the host
// stalled the machine within it, the kernel cannot tell: those behind the first are marked
// as [Late]. With a virtual clock (QEMU's -icount) the machine stands still while the
// host does something else, and no tick is late.
//
// # The record
//
// Numbers are as encoding/binary's AppendUvarint writes them:
//
//	version     2
//	hz          ticks in a second of running time
//	began       nanoseconds since 1970 (UTC)
//	lasted      nanoseconds since then
//	ran         nanoseconds of running time since then
//	ticks       that were due
//	samples     that were taken: one may be of several ticks
//	lost        ticks that could not be counted: no room in the depot or for the count
//	stalled     ticks that are in no stack: the host has stalled the machine
//	slow        samples whose stacks took the walker of traces
//	cost        ticks of the time stamp counter in taking samples
//	costHz      ticks of the time stamp counter in a second
//	n, bytes    an image of the depot (package tracer/depot)
//	calls       then so many times:
//	number, n, bytes   a system call that is in the stacks, and its name
//	id, count   for each stack, until the end; with [Late] added to the ID for ticks that
//	            came late in a system call
//
// Kernel context.
package profile

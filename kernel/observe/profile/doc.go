// Package profile is the kernel's sampling profiler: a number of times in each second of running
// time, the timer's interrupt records where the program is (option profile=HZ), and at the end, or
// on request, the counts are sent as a record of the kind [Kind] (package tools/format/profile
// reads it).
//
// A sample is a stack's ID (package kernel/observe/stackid) and a count. It samples running time,
// of each CPU separately: no tick is due while the machine is idle, or while a sample is taken. The
// program can be sampled at every instruction. The kernel runs with interrupts off, so it is
// sampled when it is left: a tick that becomes due in a system call is taken right after it, and
// counted for that call, with its number as the innermost frame and the caller's stack below. The
// weight of a sample is the number of ticks that were due, so a long call counts for its whole
// time, even if another thread runs after it. The profile does not show what the kernel does within
// a call, or whether page faults made an instruction slow.
//
// While the program runs, nothing delays a tick's interrupt. If it comes late all the same, by a
// millisecond and a tick or more, the host has stalled the machine. Then one tick is counted, where
// the program is; nobody knows where it was at the others, so they are in no stack. A call is
// counted for all of its ticks, but the kernel cannot tell whether it took long or the host stalled
// the machine during it: the ticks after the first are marked as [Late]. With a virtual clock
// (QEMU's -icount) the machine stands still while the host does something else, and no tick is
// late.
//
// # The record
//
// Numbers have the form of encoding/binary's AppendUvarint:
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

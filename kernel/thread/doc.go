// Package thread is the kernel's threads: the table of threads, the queue of those that can run,
// and those that sleep until a time. Each CPU has one kernel stack.
//
// The kernel is an event kernel: it never waits in the middle of something. A thread that must wait
// is saved; whoever wakes it supplies the system call's result. The kernel then turns to the next
// thread, so Block, Run and the like do not return. All functions are for kernel context with
// interrupts off.
//
// In the order of reading:
//
//	thread.go  the table of threads
//	queue.go   who runs next, and until when
//	sleep.go   waits for a time
//	cpus.go    threads on several CPUs
//	chaos.go   threads that change places at random
//	event.go   a hook for threads that begin, end and wait
package thread

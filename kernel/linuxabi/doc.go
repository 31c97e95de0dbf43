// Package linuxabi answers the program's system calls, as Linux on amd64 does: that
// is the interface by which the unmodified Go runtime finds its operating system.
//
//	abi.go      the way in, the table of calls, the way out
//	user.go     memory that the program has named
//	mem.go      mmap and its family
//	thread.go   clone, exit, who am I
//	futex.go    futex
//	time.go     clocks, sleeps, interval timers
//	signal.go   actions, masks, sending
//	frame.go    signal frames: delivery and return
//	fd.go       descriptors and open files
//	file.go     reading, writing, and other calls on descriptors
//	path.go     calls on names of files
//	stat.go     what files are
//	pipe.go     pipes and event counters
//	epoll.go    waiting for many descriptors
//	socket*.go  sockets: see socket.go
//	term.go     the terminal
//	network.go  the network card
//	info.go     what the system is: names, limits, random bytes
//	unknown.go  calls that are not answered
//
// All of it runs in kernel context on the kernel stack, with interrupts off; no call
// waits in here: a thread that must wait is put aside (package sched).
package linuxabi

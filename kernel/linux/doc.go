// Package linux answers the program's system calls like Linux on amd64. They are the interface
// through which the unmodified Go runtime uses its operating system.
//
//	abi.go             the way in, a call and its arguments, the way out
//	gate.go            the way in where threads run on several CPUs: the kernel lock
//	table.go           the tables of calls, and how a call is made by number
//	table_amd64.go     those of amd64, and a list of all calls with what is missing and why
//	user.go            access to the program's memory
//	mem.go             mmap and its family
//	thread.go          clone, exit, who am I
//	note.go            what the machine does not have, said once in the log
//	futex.go           futex
//	time.go            clocks, sleeps, interval timers
//	signal.go          actions, masks, sending
//	frame.go           signal frames: delivery and return
//	fd.go              descriptors and open files
//	kinds.go           the kinds of open files, and what can be done with each
//	lock.go            locks on files
//	file.go            reading and writing
//	extent.go          the other calls on descriptors: offsets, sizes, what a disk would do
//	membarrier.go      ordering the memory accesses of all CPUs
//	copy.go            bytes from one file to another
//	path.go            calls on names of files
//	attribute.go       rights, owners, sizes and times of files
//	stat.go            what files are
//	xattr.go           extended attributes
//	share.go           files of the host, which are fetched on demand
//	pipe.go            pipes and event counters
//	timerfd.go         timers that a descriptor counts
//	pidfd.go           descriptors of the program itself
//	epoll.go           waiting for many descriptors
//	select.go          the same, with sets of bits
//	socket*.go         sockets: see socket.go
//	term.go            the terminal
//	pair.go            pseudo-terminals
//	network.go         the network card
//	limits.go          limits of resources
//	info.go            the system: names, limits, random bytes
//	identity.go        who the program is
//	proc.go            /proc and /sys
//	proctext.go        the bytes of their files
//	proctask.go        the files of the process and its threads
//	procmachine.go     the files of the machine
//	inotify.go         watching files
//	unknown.go         calls without an answer, and the kernel's own
//	record.go          /dev/record, by which a program sends a record
//	message.go         what the runtime prints when it gives up
//	timer.go           timers that send a signal
//	socketmake.go      making sockets
//	socketaddr.go      addresses, as programs write them
//	socketbind.go      who has which Internet address
//	socketname.go      names of local sockets
//	socketstream.go    connections
//	socketbytes.go     bytes on connections
//	ring.go            the ring that the bytes of sockets and pipes are in
//	socketdatagram.go  datagrams
//	socketcontrol.go   control messages of Internet datagrams
//	socketgroup.go     multicast
//	procnet.go         what /proc/net says of sockets and interfaces
//	socketfilter.go    filters of datagrams
//	socketmessage.go   the send and receive families of calls
//	socketmany.go      calls that move several messages
//	socketrights.go    descriptors and credentials in control messages
//	socketoption.go    options of sockets
//	socketstate.go     what poll, select and epoll see
//	socketlink.go      netlink: which interfaces there are
//	socketioctl.go     ioctl of sockets
//	gateway.go         the network stack's sockets, for what goes to other machines
//
// Everything runs in kernel context on the kernel stack, with interrupts off. Nothing here waits: a
// thread that must wait is put aside (package thread).
package linux

// Package linux answers the program's system calls, as Linux on amd64 does: that
// is the interface by which the unmodified Go runtime finds its operating system.
//
//	abi.go             the way in, a call and its arguments, the way out
//	gate.go            the way in where threads run on several CPUs: the kernel lock
//	table.go           what a row of the table of calls says, and the call of a number
//	table_amd64.go     the rows of amd64, and what each call is, or why it is not there
//	user.go            memory that the program has named
//	mem.go             mmap and its family
//	thread.go          clone, exit, who am I
//	futex.go           futex
//	time.go            clocks, sleeps, interval timers
//	signal.go          actions, masks, sending
//	frame.go           signal frames: delivery and return
//	fd.go              descriptors and open files
//	kinds.go           the kinds of open files, and what can be done with each
//	lock.go            locks on files
//	file.go            reading and writing
//	extent.go          the other calls on descriptors: places, sizes, what a disk would do
//	membarrier.go      what orders the memory of all CPUs
//	memfd.go           files without a name, and their seals
//	copy.go            bytes from one file to another
//	path.go            calls on names of files
//	attribute.go       rights, owners, sizes and times of files
//	stat.go            what files are
//	xattr.go           extended attributes
//	share.go           files of the host, which come when they are asked for
//	pipe.go            pipes and event counters
//	timerfd.go         timers that a descriptor counts
//	signalfd.go        signals that a descriptor reads
//	pidfd.go           descriptors of the program itself
//	epoll.go           waiting for many descriptors
//	select.go          the same, with sets of bits
//	socket*.go         sockets: see socket.go
//	term.go            the terminal
//	pair.go            pseudo-terminals
//	network.go         the network card
//	limits.go          limits of resources
//	info.go            what the system is: names, limits, random bytes
//	identity.go        who the program is
//	proc.go            /proc and /sys
//	proctext.go        the bytes of their files
//	proctask.go        those that tell of the process and its threads
//	procmachine.go     those that tell of the machine
//	procnet.go         the tables of sockets
//	inotify.go         watching files
//	unknown.go         calls that are not answered, or are the kernel's own
//	record.go          /dev/record, by which a program sends a record
//	message.go         what the runtime writes when it gives up
//	timer.go           timers that send a signal
//	socketmake.go      making them
//	socketaddr.go      addresses, as programs write them
//	socketbind.go      who has which Internet address
//	socketname.go      names of local sockets
//	socketstream.go    connections
//	socketbytes.go     bytes on them
//	ring.go            the ring that the bytes of sockets and pipes are in
//	socketdatagram.go  datagrams
//	socketcontrol.go   control messages of Internet datagrams
//	socketgroup.go     multicast
//	socketfilter.go    filters of datagrams
//	socketmessage.go   the send and receive families of calls
//	socketmany.go      those that move several messages
//	socketrights.go    descriptors and credentials in control messages
//	socketoption.go    options of sockets
//	socketstate.go     what poll, select and epoll see
//	socketlink.go      netlink: which interfaces there are
//	socketioctl.go     ioctl of sockets
//
// All of it runs in kernel context on the kernel stack, with interrupts off; no call
// waits in here: a thread that must wait is put aside (package thread).
package linux

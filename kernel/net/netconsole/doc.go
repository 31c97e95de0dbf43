// Package netconsole sends what the console says, and the traces, to another machine by
// UDP over IPv4: log lines as Linux's netconsole sends them, so that any receiver of its
// messages reads them, and traces as the datagrams of package tracer/datagram.
//
//	netconsole=[+[r]][SRCPORT]@[SRCIP]/[DEV],[DSTPORT]@DSTIP/[DSTMAC]
//	ip=CLIENT::GATEWAY:NETMASK
//
// Both options have Linux's own syntax. Nothing is waited for and, but for a dump, nothing is
// received here: the headers of the frames are made once, and each datagram only patches their
// lengths, numbers and checksums. Whose hardware address stands in them is the option's
// word, or that of package netup, which asks for it when the program runs; before that,
// and without it, all machines of the wire are addressed.
//
// It allocates nothing, waits only as long as the card takes (package nic), and calls
// nothing of the runtime, so it works in every context, with the runtime dead. Interrupts
// are off, except where noted.
//
//	option.go      the options, read
//	frame.go       Ethernet, IPv4 and UDP headers
//	log.go         log lines
//	trace.go       traces
//	dump.go        the datagrams of a dump, and answers to them
//	netconsole.go  the state, and the start
package netconsole

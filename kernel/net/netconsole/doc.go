// Package netconsole sends the console's text, and the traces, to another machine by UDP over IPv4:
// log lines in the form of Linux's netconsole, so that any of its receivers can read them, and
// traces as the datagrams of package tracer/datagram.
//
//	netconsole=[+[r]][SRCPORT]@[SRCIP]/[DEV],[DSTPORT]@DSTIP/[DSTMAC]
//	ip=CLIENT::GATEWAY:NETMASK
//
// Both options have Linux's own syntax. It never waits for anything and, except for a dump,
// receives nothing: the headers of the frames are made once, and each datagram only patches their
// lengths, numbers and checksums. Their hardware address comes from the option, or from package
// netup, which asks for it when the program runs; before that, and without it, the datagrams go to
// all machines of the wire.
//
// It allocates nothing, waits only as long as the card takes (package nic), and calls nothing of
// the runtime, so it works in every context, even if the runtime is dead. Interrupts are off,
// except where noted.
//
//	option.go      reading the options
//	frame.go       Ethernet, IPv4 and UDP headers
//	log.go         log lines
//	trace.go       traces
//	dump.go        the datagrams of a dump, and answers to them
//	netconsole.go  the state, and the start
package netconsole

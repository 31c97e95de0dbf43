// Package receive takes what machines send by UDP: the log lines of netconsole
// (plain and extended, of Zeroframe and of Linux) and the datagrams of traces
// (package tracer/datagram). Many machines send at once, datagrams get lost, come
// twice and out of order, and anybody can send anything: so each machine has a small
// and fixed share of memory, the number of machines is bounded, and what makes no
// sense is dropped and counted.
//
//	command.go     `zf receive`: what is put together, and its end; flags.go: its flags
//
// Datagrams flow one way through these parts:
//
//	capture.go     the datagrams in a capture file (-pcap)
//	listen.go      a socket -> batches of datagrams (recvmmsg on Linux)
//	intake.go      a datagram -> a log line, or a part of a trace
//	machine.go     the machines, least recently heard first, and what each may hold
//	open.go        the traces that are not whole yet; reassemble.go: the parts of one
//	cores.go       the memory of machines that have died -> files
//	dump.go        packets -> such a file; dumpstate.go: what is left when the receiver ends;
//	               dumpelf.go: the file's form; dumpkey.go: sealed ones; dumpstream.go: of a serial
//	               line
//	com2.go        the same of a serial line
//	netconsole.go  a netconsole datagram -> its lines
//	oops.go        the lines of a Linux oops, gathered
//	resolve.go     a whole trace -> text and JSON, with the ELF file of its build
//	report.go      the queue of each machine; crash groups, the export, the output
//	output.go      what is shown: lines with the machine's name in front
//	linux.go       an oops of Linux as a crash
//	recent.go      what is remembered of what senders name
//
// A thread of its own empties the socket, before all else if the system lets it. The
// intake runs in one goroutine and neither blocks nor allocates for a log line or for a
// datagram that it has seen. As many traces are resolved at a time as there are CPUs. So a burst is
// first held by the socket's buffer, then by the batches (64 MiB), then as traces (128 MiB); only
// when all are full something is lost, and counted.
//
// Captures are read by the package capture, crashes are told apart by crash and exported
// by otlp; ELF files found by tools/symbol/buildid. Host.
package receive

// Package input is where live text comes from: a log, a file that grows, a pipe,
// a serial device, a TCP or unix socket. All of them are one io.Reader, which can
// outlive what it reads: a board that is switched off, an emulator that is started
// again.
//
//	source.go   a name -> how it is opened, and opened again
//	reader.go   what is read from it, over its pauses
//	follow.go   a file that grows
//	utf16.go    UTF-16, as Windows' tools save a log
//	device.go   a serial device
//	socket.go   a TCP or unix socket; telnet.go: what a terminal server says in between
//
// It imports nothing of ours. Context: the host.
package input

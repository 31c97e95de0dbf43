// Package eventstream is where records leave the machine: snapshots, profiles and whatever
// else is no text (package tracer/stream has the format). They go as lines between the
// text of COM1, or, with record.port=com2, as frames by the second serial port, which
// disturbs no text and is a quarter shorter.
//
// Kernel code writes with [Begin]. A program opens /dev/record, writes the record's kind
// and a line feed, then its bytes, and closes the file (package kernel/linux). Two
// may have it open at once; their pieces mix.
//
//	eventstream.go  a record of the kernel, piece by piece
//	file.go         the records of programs: /dev/record
package eventstream

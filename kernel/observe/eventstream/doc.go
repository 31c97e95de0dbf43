// Package eventstream sends records out of the machine: snapshots, profiles and anything else that
// is not text (package tracer/stream has the format). They go as lines between the text of COM1,
// or, with record.port=com2, as frames through the second serial port, which disturbs no text and
// takes a quarter less.
//
// Kernel code writes with [Begin]. A program opens /dev/record, writes the record's kind and a line
// feed, then its bytes, and closes the file (package kernel/linux). Two may have it open at once;
// their pieces mix.
//
//	eventstream.go  a record of the kernel, piece by piece
//	file.go         the records of programs: /dev/record
package eventstream

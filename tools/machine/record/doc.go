// Package record has recordings of machines: one file with all that a machine needs to do the same
// again.
//
// In it are the image, the command line, the files for the guest, what machine it was, QEMU's log
// of what has reached it from outside (input, the network, clocks), and what it has said on its
// serial port. The file is written as the machine runs, so that it is of use when that, or its
// host's process, is killed: it is then replayed as far as it goes.
//
// In the order of reading:
//
//	file.go    the file: blocks, each with a checksum
//	write.go   a recording that is being made
//	ring.go    one that keeps the last of a run alone
//	read.go    one that is read, as far as it is whole
//	log.go     QEMU's log: events, instructions, the machine's time
//	verify.go  what a replay says, compared with what was recorded
//
// Context: the host. It imports the standard library and a zstd package alone.
package record

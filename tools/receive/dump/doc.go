// Package dump puts the memory of a dead machine together from the packets that it has sent
// (package tracer/dump), as an ELF file of physical memory: the form of QEMU's dump-guest-memory.
//
//	assembly.go  packets -> a file, page by page, in any order
//	state.go     what is known of a dump that may go on: for a receiver that is started anew
//	stream.go    what a serial line has brought -> packets
//	key.go       the receiver's key: what a machine has sealed -> packets
//	elf.go       the headers and notes of the file
//
// A page that has not come is not in the file's table: who reads there is told so. Pages of zeros
// take no room on the disk. While it grows the file has another name, with .part at its end.
//
// The package imports tracer/dump. Context: the host.
package dump

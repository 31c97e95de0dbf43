package tty

import "unsafe"

// The ring holds what has come in and was not read yet: first what can be read,
// from tail to ready, then the line that is being typed, to head. The three count
// bytes since boot, so that their differences are right when they wrap; a place in
// the ring is the count modulo its size.
//
// A mark on a byte says that a line ends there: after it if it is a line feed,
// before it if it is endOfFile, which is not delivered.

const (
	size = 64 << 10

	// maxLine is the longest line with its line feed, in bytes, as Linux has it.
	maxLine = 4096

	endOfFile = 0x04
)

// Under the kernel lock.
var (
	ring  [size]byte
	marks [size / 8]byte

	tail, ready, head uint64

	ended bool // pipe mode: the end of the file has come
)

// Room reports whether Input can take a byte.
func Room() bool { return size-(head-tail) >= 2 } // an escape that is none is two

func at(i uint64) byte { return ring[i%size] }

func marked(i uint64) bool { return marks[i%size/8]>>(i%8)&1 != 0 }

// put appends a byte to the line; a mark makes the line readable.
//
//go:noinline
func put(b byte, mark bool) {
	ring[head%size] = b
	bit := byte(1) << (head % 8)
	if mark {
		marks[head%size/8] |= bit
	} else {
		marks[head%size/8] &^= bit
	}
	head++
	if mark || !local(ICANON) {
		commit()
	}
}

// commit makes what has been typed readable.
func commit() { ready = head }

// Flush drops all input that was not read (TCFLSH, TCSETSF).
func Flush() { tail, ready = head, head }

// Readable reports whether a read has something to return, be it the end of file.
func Readable() bool { return tail != ready || ended }

// Next returns where the bytes are that a read of up to limit bytes gets next:
// the address of the first, and how many follow each other in memory, 0 if there
// is none yet. With ICANON they are of one line. eof says that the read is to
// return 0 bytes, and TakeEOF then takes that. What has been copied is taken with
// Take, before interrupts are let in.
func Next(limit int) (addr uintptr, n int, eof bool) {
	if tail == ready {
		return 0, 0, ended
	}
	if marked(tail) && at(tail) == endOfFile {
		return 0, 0, true
	}
	start := tail % size
	most := min(uint64(max(limit, 0)), ready-tail, size-start)
	canonical := local(ICANON)
	for count := uint64(0); count < most; count++ {
		if i := tail + count; marked(i) && (canonical || at(i) == endOfFile) {
			if at(i) != endOfFile {
				count++
			}
			most = count
		}
	}
	return uintptr(unsafe.Pointer(&ring)) + uintptr(start), int(most), false
}

// Take takes n of the bytes that Next has returned. more is true if the same read
// may go on with another Next: the line, or without ICANON the input, is not at its
// end. An end of file behind the last byte of a line is taken with it.
func Take(n int) (more bool) {
	line := false
	for ; n > 0 && tail != ready; n-- {
		line = marked(tail) && local(ICANON)
		tail++
	}
	if tail == ready || line {
		return false
	}
	if marked(tail) && at(tail) == endOfFile {
		tail++
		return false
	}
	return true
}

// TakeEOF takes the end of file that Next has returned. That of pipe mode stays.
func TakeEOF() {
	if tail != ready && marked(tail) && at(tail) == endOfFile {
		tail++
	}
}

// Buffered returns the number of bytes that can be read (FIONREAD), ends of file
// included.
func Buffered() int { return int(ready - tail) }

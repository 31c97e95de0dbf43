package tty

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The ring holds input that has not been read: first what can be read, from tail to ready, then the
// line that is being typed, up to head. The three count bytes since boot, so their differences stay
// right when they wrap; a byte's place in the ring is its count modulo the ring's size. The serial
// terminal's ring is here, that of a pair in page frames.
//
// A mark on a byte says that a line ends there: after it if it is a line feed, before it if it is
// endOfFile, which is not delivered.

const (
	serialSize = 64 << 10

	// maxLine is the longest line with its line feed, in bytes, as in Linux.
	maxLine = 4096

	endOfFile = 0x04
)

// Under the kernel lock.
var (
	ring  [serialSize]byte
	marks [serialSize / 8]byte
)

func (t *Terminal) size() uint64 {
	if t.isPair() {
		return pairSize
	}
	return serialSize
}

// place returns where byte i is.
func (t *Terminal) place(i uint64) *byte {
	percpu.AssertLocked()
	if t.isPair() {
		return t.inPage(pageIn, i%pairSize)
	}
	return &ring[i%serialSize]
}

// eight returns where the marks of byte i and its neighbours are.
func (t *Terminal) eight(i uint64) *byte {
	percpu.AssertLocked()
	if t.isPair() {
		return t.inPage(pageMarks, i%pairSize/8)
	}
	return &marks[i%serialSize/8]
}

// Room reports whether Input can take a byte. A byte after a DLE may become two.
func (t *Terminal) Room() bool { return t.size()-(t.head-t.tail) >= 2 }

func (t *Terminal) at(i uint64) byte { return *t.place(i) }

func (t *Terminal) marked(i uint64) bool { return *t.eight(i)>>(i%8)&1 != 0 }

// put appends a byte to the line; a mark makes the line readable.
//
//go:noinline
func (t *Terminal) put(b byte, mark bool) {
	*t.place(t.head) = b
	bit := byte(1) << (t.head % 8)
	if mark {
		*t.eight(t.head) |= bit
	} else {
		*t.eight(t.head) &^= bit
	}
	t.head++
	if mark || !t.local(ICANON) {
		t.commit()
	}
}

// commit makes the typed bytes readable.
func (t *Terminal) commit() { t.ready = t.head }

// Flush drops all unread input (TCFLSH, TCSETSF).
func (t *Terminal) Flush() { t.tail, t.ready = t.head, t.head }

// Readable reports whether a read has something to return, even if that is the end of the file.
func (t *Terminal) Readable() bool { return t.tail != t.ready || t.ended }

// Next returns where the bytes for a read of up to limit bytes are: the address of the first, and
// how many follow each other in memory, 0 if there are none yet. With ICANON they belong to one
// line. eof says that the read must return 0 bytes; TakeEOF then removes that. Take removes bytes
// that were copied, before interrupts are enabled.
func (t *Terminal) Next(limit int) (addr uintptr, n int, eof bool) {
	if t.tail == t.ready {
		return 0, 0, t.ended
	}
	if t.marked(t.tail) && t.at(t.tail) == endOfFile {
		return 0, 0, true
	}
	together := t.size()
	if t.isPair() {
		together = arch.PageSize
	}
	most := min(uint64(max(limit, 0)), t.ready-t.tail, together-t.tail%together)
	canonical := t.local(ICANON)
	for count := uint64(0); count < most; count++ {
		if i := t.tail + count; t.marked(i) && (canonical || t.at(i) == endOfFile) {
			if t.at(i) != endOfFile {
				count++
			}
			most = count
		}
	}
	return uintptr(unsafe.Pointer(t.place(t.tail))), int(most), false
}

// Take removes n of the bytes that Next returned. more is true if the same read may go on with
// another Next: the line, or without ICANON the input, is not at its end. An end of file after the
// last byte of a line is removed with it.
func (t *Terminal) Take(n int) (more bool) {
	line := false
	for ; n > 0 && t.tail != t.ready; n-- {
		line = t.marked(t.tail) && t.local(ICANON)
		t.tail++
	}
	if t.tail == t.ready || line {
		return false
	}
	if t.marked(t.tail) && t.at(t.tail) == endOfFile {
		t.tail++
		return false
	}
	return true
}

// TakeEOF removes the end of file that Next returned. In pipe mode the end stays.
func (t *Terminal) TakeEOF() {
	if t.tail != t.ready && t.marked(t.tail) && t.at(t.tail) == endOfFile {
		t.tail++
	}
}

// Enough reports whether a read of up to limit bytes need not wait: in line mode, for a line or the
// end of the file; else for VMIN bytes.
func (t *Terminal) Enough(limit int) bool {
	if t.local(ICANON) || t.pipe {
		return t.Readable()
	}
	return t.Buffered() >= min(int(t.termios.CC[VMIN]), limit)
}

// EnoughForPoll is Enough for poll and the like.
func (t *Terminal) EnoughForPoll() bool {
	return t.Readable() && (t.termios.CC[VTIME] != 0 || t.Enough(int(t.size())))
}

// Patience returns how many tenths of a second a read waits for its first byte; ok is false if it
// waits without limit.
func (t *Terminal) Patience() (tenths int, ok bool) {
	return int(t.termios.CC[VTIME]), !t.local(ICANON) && t.termios.CC[VMIN] == 0
}

// Buffered returns the number of bytes that can be read (FIONREAD), including ends of file.
func (t *Terminal) Buffered() int { return int(t.ready - t.tail) }

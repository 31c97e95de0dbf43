package tty

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// A pair, or pseudo-terminal: a terminal whose other end, the master, belongs to a program.
// Whatever the master writes counts as typed; output is kept in a ring until the master reads it.

const (
	pairSize  = 16 << 10 // of each ring, a power of two
	pageIn    = 0        // the first page of the input, of the output, of the marks
	pageOut   = pairSize / arch.PageSize
	pageMarks = 2 * pageOut
	pairPages = pageMarks + 1

	_ = uint(arch.PageSize - pairSize/8) // the marks have one page
)

// Pairs are all pairs, in use or not. Under the kernel lock.
var Pairs [64]Terminal

// Open makes the pair a new one, with Linux's initial settings. It returns false if memory has run
// out.
func (t *Terminal) Open() bool {
	*t = Terminal{termios: Termios{
		Iflag: ICRNL | IXON,
		Oflag: defaultOflag,
		Cflag: line38400 | line8,
		Lflag: defaultLflag | IEXTEN,
		CC: [19]uint8{VINTR: 0x03, VQUIT: 0x1c, VERASE: 0x7f, VKILL: 0x15, VEOF: 0x04, VMIN: 1,
			VSTART: 0x11,
			VSTOP:  0x13, VSUSP: 0x1a, 12: 0x12, 13: 0x0f, VWERASE: 0x17, VLNEXT: 0x16},
	}}
	for i := range t.pages {
		if t.pages[i] = mem.Frame(); t.pages[i] == 0 {
			t.Close()
			return false
		}
	}
	return true
}

// Close frees the pair's memory.
func (t *Terminal) Close() {
	for i := range t.pages {
		if t.pages[i] != 0 {
			mem.FreeFrame(t.pages[i])
		}
		t.pages[i] = 0
	}
}

func (t *Terminal) isPair() bool { return t.pages[0] != 0 }

// inPage returns byte i of the ring that begins with that page.
func (t *Terminal) inPage(first int, i uint64) *byte {
	return (*byte)(arch.Pointer(t.pages[first+int(i/arch.PageSize)] + uintptr(i%arch.PageSize)))
}

// keep appends a byte to the output. If there is no room, the byte is an echo, and is dropped.
func (t *Terminal) keep(b byte) {
	if t.outEnd-t.outTail < pairSize {
		*t.inPage(pageOut, t.outEnd%pairSize) = b
		t.outEnd++
	}
}

// OutRoom reports whether Out has room for a byte, and is not stopped.
func (t *Terminal) OutRoom() bool { return pairSize-(t.outEnd-t.outTail) >= 2 && !t.stopped }

// Shown returns how many bytes the master can read.
func (t *Terminal) Shown() int { return int(t.outEnd - t.outTail) }

// NextShown returns where the next bytes for the master are, as Next does; TakeShown removes them.
func (t *Terminal) NextShown(limit int) (addr uintptr, n int) {
	i := t.outTail % pairSize
	return t.pages[pageOut+i/arch.PageSize] + uintptr(i%arch.PageSize),
		min(limit, t.Shown(), int(arch.PageSize-i%arch.PageSize))
}

// TakeShown removes n of the bytes that NextShown returned.
func (t *Terminal) TakeShown(n int) { t.outTail += uint64(n) }

// FlushOut drops the output that the master has not read.
func (t *Terminal) FlushOut() { t.outTail = t.outEnd }

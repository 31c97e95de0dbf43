package tty

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// serialByte and serialText are where the serial terminal's output goes. Never written but by
// tests.
var (
	serialByte = console.TextByte
	serialText = console.Text
)

// Positions in an escape sequence.
const (
	noSequence      uint8 = iota
	sequenceBegun         // ESC
	controlSequence       // ESC [, to a letter or the like
	stringSequence        // ESC ] and its like, to BEL or ESC \
)

// Out sends a byte that a program writes, with the line ends of the settings.
func (t *Terminal) Out(b byte) {
	if b == '\n' && t.lineEnds() {
		t.send('\r')
		t.column = 0
	}
	t.send(b)
	if !t.inSequence(b) {
		t.column = t.after(b, t.column)
	}
}

// send sends a byte unchanged. Not inlined, so that the call of serialByte is in one place
// (tools/symbol/stacks).
//
//go:noinline
func (t *Terminal) send(b byte) {
	if t.isPair() {
		t.keep(b)
		return
	}
	serialByte(b)
}

// lineEnds reports whether a line feed goes out as carriage return and line feed.
func (t *Terminal) lineEnds() bool { return t.termios.Oflag&(OPOST|ONLCR) == OPOST|ONLCR }

// outgoing is what Write sends next. Under the kernel lock.
var outgoing [4096]byte

// Write is Out for many bytes, for the serial terminal.
func (t *Terminal) Write(p []byte) {
	percpu.AssertLocked()
	t.follow(p)
	if !t.lineEnds() {
		serialText(p)
		return
	}
	n := 0
	for _, b := range p {
		if n > len(outgoing)-2 {
			serialText(outgoing[:n])
			n = 0
		}
		if b == '\n' {
			outgoing[n] = '\r'
			n++
		}
		outgoing[n] = b
		n++
	}
	serialText(outgoing[:n])
}

// follow moves the column over bytes that a program writes. Bytes before the last one that brings
// the cursor to the start of a line do not count.
func (t *Terminal) follow(p []byte) {
	if t.pipe {
		return // nobody uses the column
	}
	ends := t.lineEnds()
	first := len(p)
	for first > 0 && p[first-1] != '\r' && (p[first-1] != '\n' || !ends) {
		first--
	}
	if first > 0 {
		t.column, t.sequence = 0, noSequence
	}
	for _, b := range p[first:] {
		if !t.inSequence(b) {
			t.column = t.after(b, t.column)
		}
	}
}

// inSequence reports whether b is a byte of an escape sequence.
func (t *Terminal) inSequence(b byte) bool {
	switch {
	case b == '\r' || b == '\n':
		t.sequence = noSequence
		return false
	case b == escape:
		t.sequence = sequenceBegun
		return true
	}
	was := t.sequence
	switch was {
	case sequenceBegun:
		switch {
		case b == '[':
			t.sequence = controlSequence
		case b == ']' || b == 'P' || b == '^' || b == '_':
			t.sequence = stringSequence
		case b < 0x20 || b > 0x2f: // ESC ( B has one more
			t.sequence = noSequence
		}
	case controlSequence:
		if b >= 0x40 {
			t.sequence = noSequence
		}
	case stringSequence:
		if b == bell {
			t.sequence = noSequence
		}
	}
	return was != noSequence
}

// after returns the column after a byte in the given one.
func (t *Terminal) after(b byte, column int) int {
	switch {
	case b == '\r':
		return 0
	case b == '\t':
		if t.behindMargin(column) {
			return column // the cursor is still there
		}
		stop := t.tabStop(column)
		if t.behindMargin(stop) {
			stop-- // a tab begins no row
		}
		return stop
	case b == backspace:
		return max(column-1, 0)
	case b >= ' ' && b != rubout && (t.termios.Iflag&IUTF8 == 0 || !continuation(b)):
		return column + 1
	}
	return column
}

// tabStop returns the next tab stop after a column, or the end of the row.
func (t *Terminal) tabStop(column int) int {
	margin := t.margin()
	if margin == 0 {
		return column&^7 + 8
	}
	in := column % margin
	return column - in + min(in&^7+8, margin)
}

// behindMargin reports whether a row of the terminal is full up to a column: the cursor is in the
// row's last column until the next character comes, or, on other terminals, at the start of the
// next row.
func (t *Terminal) behindMargin(column int) bool {
	margin := t.margin()
	return margin != 0 && column > 0 && column%margin == 0
}

// margin is the number of columns of a row, 0 if a row has no end: for a pair, that is up to its
// master.
func (t *Terminal) margin() int {
	if t.isPair() {
		return 0
	}
	return int(t.columns)
}

// eraseColumn removes the last column; with blank false, nothing is shown there.
func (t *Terminal) eraseColumn(blank bool) {
	switch {
	case t.behindMargin(t.column):
		// A backspace does not go up a row. A blank puts the cursor into the next row for certain;
		// then: up, to the last column, erase to the end of the row.
		t.text(" \b\x1b[A\x1b[")
		t.decimal(int(t.columns))
		t.text("G\x1b[K")
	case blank:
		t.text("\b \b")
	default:
		t.send(backspace)
	}
	t.column = max(t.column-1, 0)
}

// text sends a text.
func (t *Terminal) text(s string) {
	for i := range len(s) {
		t.send(s[i])
	}
}

// decimal sends a number of up to five digits.
func (t *Terminal) decimal(n int) {
	for unit := 10_000; unit > 0; unit /= 10 {
		if n >= unit || unit == 1 {
			t.send('0' + byte(n/unit%10))
		}
	}
}

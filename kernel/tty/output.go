package tty

import "github.com/zeroframe/zeroframe/kernel/console"

// send and sendAll are where output goes. Never written but by tests.
var (
	send    = console.TextByte
	sendAll = console.Text
)

// column is where the terminal's cursor is, as far as the bytes tell: a character of several
// columns is taken for one, and escape sequences for colors, which take none. It counts from
// the beginning of a line, and goes on where the terminal begins another row. Under the kernel
// lock.
var column int

// sequence is how far an escape sequence has come. Under the kernel lock.
var sequence uint8

const (
	noSequence      uint8 = iota
	sequenceBegun         // ESC
	controlSequence       // ESC [, to a letter or the like
	stringSequence        // ESC ] and its like, to BEL or ESC \
)

// Out sends a byte that a program writes, with the line ends that the settings
// ask for.
func Out(b byte) {
	if b == '\n' && lineEnds() {
		send('\r')
		column = 0
	}
	send(b)
	if !inSequence(b) {
		column = after(b, column)
	}
}

// lineEnds reports whether a line feed goes out as carriage return and line feed.
func lineEnds() bool { return termios.Oflag&(OPOST|ONLCR) == OPOST|ONLCR }

// outgoing is what Write sends next. Under the kernel lock.
var outgoing [4096]byte

// Write is Out for many bytes.
func Write(p []byte) {
	follow(p)
	if !lineEnds() {
		sendAll(p)
		return
	}
	n := 0
	for _, b := range p {
		if n > len(outgoing)-2 {
			sendAll(outgoing[:n])
			n = 0
		}
		if b == '\n' {
			outgoing[n] = '\r'
			n++
		}
		outgoing[n] = b
		n++
	}
	sendAll(outgoing[:n])
}

// follow moves the column over bytes that a program writes. What is before the last byte that
// brings the cursor to a line's beginning does not count.
func follow(p []byte) {
	if pipe {
		return // nobody asks for the column
	}
	ends := lineEnds()
	first := len(p)
	for first > 0 && p[first-1] != '\r' && (p[first-1] != '\n' || !ends) {
		first--
	}
	if first > 0 {
		column, sequence = 0, noSequence
	}
	for _, b := range p[first:] {
		if !inSequence(b) {
			column = after(b, column)
		}
	}
}

// inSequence reports whether b is a byte of an escape sequence.
func inSequence(b byte) bool {
	switch {
	case b == '\r' || b == '\n':
		sequence = noSequence
		return false
	case b == escape:
		sequence = sequenceBegun
		return true
	}
	was := sequence
	switch was {
	case sequenceBegun:
		switch {
		case b == '[':
			sequence = controlSequence
		case b == ']' || b == 'P' || b == '^' || b == '_':
			sequence = stringSequence
		case b < 0x20 || b > 0x2f: // ESC ( B has one more
			sequence = noSequence
		}
	case controlSequence:
		if b >= 0x40 {
			sequence = noSequence
		}
	case stringSequence:
		if b == bell {
			sequence = noSequence
		}
	}
	return was != noSequence
}

// after returns the column after a byte in the given one.
func after(b byte, column int) int {
	switch {
	case b == '\r':
		return 0
	case b == '\t':
		if behindMargin(column) {
			return column // the cursor is there still
		}
		stop := tabStop(column)
		if behindMargin(stop) {
			stop-- // a tab begins no row
		}
		return stop
	case b == backspace:
		return max(column-1, 0)
	case b >= ' ' && b != rubout && (termios.Iflag&IUTF8 == 0 || !continuation(b)):
		return column + 1
	}
	return column
}

// tabStop returns where the next tab stop behind a column is, or the end of the row.
func tabStop(column int) int {
	if columns == 0 {
		return column&^7 + 8
	}
	in := column % int(columns)
	return column - in + min(in&^7+8, int(columns))
}

// behindMargin reports whether a row of the terminal is full up to a column: the terminal's
// cursor is in the row's last column until the next character comes, or, on others, at the
// beginning of the next row.
func behindMargin(column int) bool { return columns != 0 && column > 0 && column%int(columns) == 0 }

// eraseColumn takes the last column back; without blank, nothing is shown there.
func eraseColumn(blank bool) {
	switch {
	case behindMargin(column):
		// A backspace does not go up a row. A blank puts the cursor into the next one for
		// certain; then: up, to the last column, erase to the end of the row.
		text(" \b\x1b[A\x1b[")
		decimal(int(columns))
		text("G\x1b[K")
	case blank:
		text("\b \b")
	default:
		send(backspace)
	}
	column = max(column-1, 0)
}

// text sends a text. Not inlined, so that the call of send is in one place (tools/stacks).
//
//go:noinline
func text(s string) {
	for i := range len(s) {
		send(s[i])
	}
}

// decimal sends a number of up to five digits.
//
//go:noinline
func decimal(n int) {
	for unit := 10_000; unit > 0; unit /= 10 {
		if n >= unit || unit == 1 {
			send('0' + byte(n/unit%10))
		}
	}
}

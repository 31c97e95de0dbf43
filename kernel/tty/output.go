package tty

import "github.com/zeroframe/zeroframe/kernel/console"

// send is where output goes. Never written but by tests.
var send = console.Byte

// column is where the terminal's cursor is, as far as the bytes tell: a character
// of several columns is taken for one, and escape sequences for text. Under the kernel lock.
var column int

// Out sends a byte that a program writes, with the line ends that the settings
// ask for.
func Out(b byte) {
	if b == '\n' && termios.Oflag&(OPOST|ONLCR) == OPOST|ONLCR {
		send('\r')
		column = 0
	}
	send(b)
	column = after(b, column)
}

// after returns the column after a byte in the given one.
func after(b byte, column int) int {
	switch {
	case b == '\r':
		return 0
	case b == '\t':
		return column&^7 + 8
	case b == backspace:
		return max(column-1, 0)
	case b >= ' ' && b != rubout && (termios.Iflag&IUTF8 == 0 || !continuation(b)):
		return column + 1
	}
	return column
}

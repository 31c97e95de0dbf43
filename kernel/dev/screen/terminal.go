package screen

// The screen as a terminal, as far as a kernel's log needs one: lines, which scroll. Escape
// sequences are ignored, and characters beyond ASCII are question marks.

// Under the kernel lock; the panic path takes none.
var (
	row, col int // where the next character goes; col may be cols
	escape   uint8
)

// States of escape.
const (
	escapeNone  = iota
	escapeBegun // after ESC
	escapeCSI   // after ESC [
)

// Byte shows the next byte of the console's text. After a crash it goes to the pages.
func Byte(b byte) {
	if !on {
		return
	}
	switch escape {
	case escapeBegun:
		if escape = escapeNone; b == '[' {
			escape = escapeCSI
		}
		return
	case escapeCSI:
		if b >= 0x40 && b <= 0x7e {
			escape = escapeNone
		}
		return
	}
	switch {
	case b == 0x1b:
		escape = escapeBegun
	case crashed:
		textByte(b)
	default:
		terminal(b)
	}
}

// terminal shows a byte that is part of no sequence.
func terminal(b byte) {
	switch {
	case b == '\n':
		lineFeed()
	case b == '\r':
		col = 0
	case b == '\b':
		col = max(min(col, cols-1)-1, 0)
	case b == '\t':
		col = min(col&^7+8, cols)
	// Control characters; all but the first byte of a character.
	case b < ' ' || b == 0x7f || b&0xc0 == 0x80:
	default:
		if col >= cols {
			col = 0
			lineFeed()
		}
		put(row, col, visible(b))
		col++
	}
}

// lineFeed goes to the next row; in the last row it scrolls.
func lineFeed() {
	if row+1 < rows {
		row++
		blank(row, 0)
		return
	}
	up := 1
	if pixels.on {
		up = rows / 4 // drawing everything is slow: not for each line
	}
	for r := 0; r+up < rows; r++ {
		for c := 0; c < cols; c++ {
			put(r, c, cells[(r+up)&(maxRows-1)][c])
		}
	}
	for row = rows - up; up > 0; up-- {
		blank(rows-up, 0)
	}
}

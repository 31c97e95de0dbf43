package screen

import "github.com/zeroframe/zeroframe/arch"

// The screen as a grid of characters, of either kind.

// The largest grid that is used; a larger screen stays empty beyond it.
const (
	maxCols = 160
	maxRows = 64
)

// bright marks a bright character in cells.
const bright = 0x80

// Under the kernel lock; the panic path takes none.
var (
	on         bool // there is a screen
	busy       bool // it is being drawn on
	cols, rows int
	cells      [maxRows][maxCols]byte // the characters on the screen: ASCII, and bright
)

// On reports whether there is a screen.
func On() bool { return on }

// Busy reports whether something is being drawn. If that is so in the handler of a fault, the
// screen caused the fault: call [Off].
func Busy() bool { return busy }

// Off gives up the screen.
func Off() { on, busy, crashed, codeRoom = false, false, false, 0 }

// start starts using a screen of that size.
func start(c, r int) bool {
	cols, rows = min(c, maxCols), min(r, maxRows)
	on = cols >= 20 && rows >= 10
	placeCode()
	return on
}

// Clear empties the screen.
func Clear() {
	if !on {
		return
	}
	busy = true
	for r := range cells {
		for c := range cells[r] {
			cells[r][c] = ' '
		}
	}
	if !pixels.on {
		for r := 0; r < rows; r++ {
			for c := 0; c < cols; c++ {
				drawText(r, c, ' ')
			}
		}
	} else {
		fillPixels()
	}
	busy = false
	row, col = 0, 0
}

// put shows a character.
func put(r, c int, b byte) {
	if uint(r) >= uint(rows) || uint(c) >= uint(cols) || cells[r&(maxRows-1)][c] == b {
		return
	}
	cells[r&(maxRows-1)][c] = b
	busy = true
	if pixels.on {
		drawPixels(r, c, b)
	} else {
		drawText(r, c, b)
	}
	busy = false
}

// blank empties a row from a column on.
func blank(r, c int) {
	for ; c < textCols(); c++ {
		put(r, c, ' ')
	}
}

// visible returns the character for a byte.
func visible(b byte) byte {
	if b < ' ' || b > '~' {
		return '?'
	}
	return b
}

// cellsAt is the address of the text screen's memory. Set once at boot.
var (
	cellsAt   uintptr
	textPitch uintptr // bytes a row
)

func drawText(r, c int, b byte) {
	arch.DrawText(cellsAt+uintptr(r)*textPitch+uintptr(c)*arch.CellSize, b&^bright, b&bright != 0)
}

// Text starts using a text screen of that many characters; pitch is its bytes a row. It reports
// whether such a screen is possible. Its memory must be mapped.
func Text(addr, pitch uintptr, columns, lines int) bool {
	if columns < 0 || uintptr(columns)*arch.CellSize > pitch {
		return false
	}
	cellsAt, textPitch, pixels.on = addr, pitch, false
	if !start(columns, lines) {
		return false
	}
	arch.StartText(addr)
	return true
}

package screen

import "github.com/zeroframe/zeroframe/arch/amd64"

// The screen as a grid of characters, whatever it is made of.

// The largest grid that is used; what a screen has beyond it stays empty.
const (
	maxCols = 160
	maxRows = 64
)

// bright marks a character in cells that stands out.
const bright = 0x80

var (
	on         bool // there is a screen
	busy       bool // it is being drawn on
	cols, rows int
	cells      [maxRows][maxCols]byte // what is shown: ASCII, and bright
)

// On reports whether there is a screen.
func On() bool { return on }

// Busy reports whether something is being drawn. Who finds it so in the handler of a fault
// knows that the screen is the reason, and calls [Off].
func Busy() bool { return busy }

// Off gives the screen up.
func Off() { on, busy, dying = false, false, false }

// start takes a screen of that size into use.
func start(c, r int) bool {
	cols, rows = min(c, maxCols), min(r, maxRows)
	on = cols >= 20 && rows >= 10
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
				drawVGA(r, c, ' ')
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
		drawVGA(r, c, b)
	}
	busy = false
}

// blank empties a row from a column on.
func blank(r, c int) {
	for ; c < cols; c++ {
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

// vga is the address of the VGA's text: a character and its attribute, each a byte.
var (
	vga      uintptr
	vgaPitch uintptr // bytes a row
)

// Attributes of the VGA.
const (
	vgaGray  = 0x07 // on black
	vgaTitle = 0x70 // black on gray
)

func drawVGA(r, c int, b byte) {
	v := uint16(vgaGray)<<8 | uint16(b)
	if b&bright != 0 {
		v = uint16(vgaTitle)<<8 | uint16(b&^bright)
	}
	amd64.Store16(vga+uintptr(r)*vgaPitch+uintptr(c)*2, v)
}

// The VGA's registers (IBM VGA technical reference; Intel, Open Source HD Graphics, VGA).
const (
	vgaMiscRead  = 0x3cc
	vgaGraphics  = 0x3ce // index; data behind it
	vgaCRTC      = 0x3d4 // likewise, on a colour screen
	graphicsMisc = 6     // bit 0: graphics; bits 2, 3: 3 for memory at 0xb8000
	cursorStart  = 0x0a  // bit 5: no cursor
	startHigh    = 0x0c
	startLow     = 0x0d
)

// TextAddr is where the text of a VGA is.
const TextAddr = 0xb8000

// HasVGA reports whether there is a VGA in a text mode at [TextAddr].
func HasVGA() bool {
	if misc := amd64.In8(vgaMiscRead); misc == 0xff || misc&1 == 0 {
		return false
	}
	index := amd64.In8(vgaGraphics)
	amd64.Out8(vgaGraphics, graphicsMisc)
	misc := amd64.In8(vgaGraphics + 1)
	amd64.Out8(vgaGraphics, index)
	return misc&0x0d == 0x0c
}

// Text takes a VGA's text screen, of so many characters, into use; pitch is its bytes a row.
// It reports whether that can be one. Its memory must be mapped.
func Text(addr, pitch uintptr, columns, lines int) bool {
	if columns < 0 || uintptr(columns)*2 > pitch {
		return false
	}
	vga, vgaPitch, pixels.on = addr, pitch, false
	if !start(columns, lines) {
		return false
	}
	if addr == TextAddr {
		crtc(startHigh, 0)
		crtc(startLow, 0)
		crtc(cursorStart, 0x20)
	}
	return true
}

func crtc(index, v uint8) {
	amd64.Out8(vgaCRTC, index)
	amd64.Out8(vgaCRTC+1, v)
}

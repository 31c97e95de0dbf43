package screen

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// The QR code of a crash, in a square on the right, as high as the screen as long as the text keeps
// its columns. The square is light, and each module has as many pixels as there is room for. On a
// text screen a module is half a character, or a whole one if characters are not twice as high as
// they are wide, as with more than 40 rows.

const (
	// textWidth is the least number of columns that are left for the text.
	textWidth = 30
	// quiet is the least number of light modules around a code. The standard wants four, but
	// readers manage with two, and so the modules are larger.
	quiet = 2
	// leastModule is the least number of pixels of a module's side, and mostModules the largest
	// number of modules: what a photo of the whole screen still shows.
	leastModule, mostModules = 4, 105
	// fineRows is the number of rows from which on characters are as high as they are wide.
	fineRows = 40
)

// Set once at boot.
var (
	codeRoom int // modules a side that fit; 0: none
	codeSide int // of the square, in pixels or half or whole characters
	codeCol  int // the first column of the square
)

// CodeRoom returns how many modules a side a code may have; 0: there is no room for one.
func CodeRoom() int { return codeRoom }

// placeCode finds the place for codes.
func placeCode() {
	codeRoom, codeCol = 0, cols
	if pixels.on {
		p := &pixels
		codeSide = min(p.height, p.width-textWidth*glyphWidth*p.scale)
		if room := min(codeSide/leastModule-2*quiet, mostModules); qr.Version(room) > 0 {
			codeRoom, codeCol = room, (p.width-codeSide)/(glyphWidth*p.scale)
		}
		codeCol = min(codeCol, cols)
		return
	}
	codeSide = min(rows*perCell(), cols-textWidth)
	if room := codeSide - 2*quiet; qr.Version(room) > 0 {
		codeRoom, codeCol = room, cols-codeSide
	}
}

// perCell is the height of a character in modules.
func perCell() int {
	if rows >= fineRows {
		return 1
	}
	return 2
}

// DrawCode shows a code in place of the previous one.
func DrawCode(c *qr.Code) {
	if !Crashed() || c.Size() > codeRoom {
		return
	}
	busy = true
	if pixels.on {
		drawCodePixels(c)
	} else {
		drawCodeText(c)
	}
	busy = false
}

func drawCodePixels(c *qr.Code) {
	p := &pixels
	x0, n := p.width-codeSide, c.Size()
	p.fill(x0, 0, codeSide, p.height, p.ink)
	module := codeSide / (n + 2*quiet)
	x0 += (codeSide - n*module) / 2
	y0 := (p.height - n*module) / 2
	for y := range n {
		for x := range n {
			if c.Dark(x, y) {
				p.fill(x0+x*module, y0+y*module, module, module, 0)
			}
		}
	}
}

func drawCodeText(c *qr.Code) {
	per := perCell()
	off := (codeSide - c.Size()) / 2
	for row := range codeSide / per {
		for x := range codeSide {
			y := row*per - off
			upper, lower := c.Dark(x-off, y), c.Dark(x-off, y+per-1)
			b, lit := byte(' '), false
			switch {
			case !upper && !lower:
				lit = true
			case !upper:
				b = arch.HalfUpper
			case !lower:
				b = arch.HalfLower
			}
			arch.DrawText(cellsAt+uintptr(row)*textPitch+uintptr(codeCol+x)*arch.CellSize, b, lit)
		}
	}
}

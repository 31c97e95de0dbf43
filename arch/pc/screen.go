package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The text screen of a VGA (IBM VGA technical reference; Intel, Open Source HD Graphics,
// VGA). In its memory a character and its attribute are a byte each.

const (
	vgaMiscRead  = 0x3cc
	vgaGraphics  = 0x3ce // index; data behind it
	vgaCRTC      = 0x3d4 // likewise, on a colour screen
	graphicsMisc = 6     // bit 0: graphics; bits 2, 3: 3 for memory at 0xb8000
	cursorStart  = 0x0a  // bit 5: no cursor
	startHigh    = 0x0c
	startLow     = 0x0d

	vgaGray  = 0x07 // on black
	vgaTitle = 0x70 // black on gray
)

// TextScreen is the physical address of the text screen's memory, and CellSize the size of a
// character there, in bytes.
const (
	TextScreen = 0xb8000
	CellSize   = 2
)

// HasTextScreen reports whether there is a screen in a text mode at TextScreen.
func HasTextScreen() bool {
	if misc := amd64.In8(vgaMiscRead); misc == 0xff || misc&1 == 0 {
		return false
	}
	index := amd64.In8(vgaGraphics)
	amd64.Out8(vgaGraphics, graphicsMisc)
	misc := amd64.In8(vgaGraphics + 1)
	amd64.Out8(vgaGraphics, index)
	return misc&0x0d == 0x0c
}

// TextScreenSize returns the size of the text screen in characters, as a BIOS left it in its data
// area (IBM PS/2 and PC BIOS reference, 40:4A and 40:84), if that is possible. The first page must
// be mapped.
func TextScreenSize() (columns, lines int) {
	columns, lines = int(amd64.Load16(amd64.Virtual(0x44a))), int(amd64.Load8(amd64.Virtual(0x484)))+1
	if columns != 40 && columns != 80 && columns != 132 || lines < 25 || lines > 60 {
		return 80, 25
	}
	return columns, lines
}

// StartText starts using the text screen at the address: its first line is the first in memory, and
// there is no cursor.
func StartText(address uintptr) {
	if amd64.Physical(address) == TextScreen {
		crtc(startHigh, 0)
		crtc(startLow, 0)
		crtc(cursorStart, 0x20)
	}
}

func crtc(index, v uint8) {
	amd64.Out8(vgaCRTC, index)
	amd64.Out8(vgaCRTC+1, v)
}

// HalfUpper and HalfLower are the characters, in the code page of a VGA, whose upper or lower half
// is lit.
const (
	HalfUpper = 0xdf
	HalfLower = 0xdc
)

// DrawText writes a character, bright if asked, to a cell of a text screen's memory. Any context.
func DrawText(cell uintptr, b byte, bright bool) {
	attribute := uint16(vgaGray)
	if bright {
		attribute = vgaTitle
	}
	amd64.Store16(cell, attribute<<8|uint16(b))
}

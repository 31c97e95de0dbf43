package screen

import "github.com/zeroframe/zeroframe/arch"

// A framebuffer. On a fine screen each pixel of the font is a square of several, because some 80
// characters a row are what can be read on a photo.

const (
	glyphWidth  = 8
	glyphHeight = 16
	wantCols    = 80
)

// Field is the bits of a colour in a pixel: Size of them, from bit Shift on.
type Field struct{ Shift, Size uint8 }

type pixelScreen struct {
	on            bool
	addr, pitch   uintptr
	width, height int
	bytes         uintptr // a pixel
	scale         int     // pixels for each pixel of the font
	ink           uint32
}

var pixels pixelScreen // set once at boot

// Pixels starts using a framebuffer: pitch is its bytes a line, bpp the bits of a pixel: 15, 16, 24
// or 32. It reports whether such a framebuffer is possible. Its memory must be mapped.
func Pixels(addr, pitch uintptr, width, height, bpp int, red, green, blue Field) bool {
	p := &pixels
	p.bytes = uintptr(bpp+7) / 8
	if p.bytes < 2 || p.bytes > 4 || width < 0 || height < 0 || width > 1<<16 || height > 1<<16 ||
		uintptr(width)*p.bytes > pitch {
		return false
	}
	p.addr, p.pitch, p.width, p.height = addr, pitch, width, height
	p.scale = max(1, min(width/(wantCols*glyphWidth), height/(24*glyphHeight)))
	p.ink = red.light() | green.light() | blue.light()
	p.on = true
	p.on = start(width/(glyphWidth*p.scale), height/(glyphHeight*p.scale))
	return p.on
}

// light returns the bits of a colour at some three quarters of its strength, because full white
// blooms on a photo.
func (f Field) light() uint32 {
	if f.Size == 0 || f.Size > 16 {
		return 0
	}
	full := uint32(1)<<f.Size - 1
	return (full - full>>2) << (f.Shift & 31)
}

// fillPixels makes all of the screen black.
func fillPixels() {
	p := &pixels
	p.fill(0, 0, p.width, p.height, 0)
}

func drawPixels(r, c int, b byte) {
	p := &pixels
	glyph := glyphs[0]
	if i := int(b&^bright) - ' '; i >= 0 && i < len(glyphs) {
		glyph = glyphs[i]
	}
	at := p.addr + uintptr(r*glyphHeight*p.scale)*p.pitch + uintptr(c*glyphWidth*p.scale)*p.bytes
	for row := range len(glyph) {
		bits := glyph[row]
		if b&bright != 0 {
			bits = ^bits
		}
		for range p.scale {
			a := at
			for bit := byte(0x80); bit != 0; bit >>= 1 {
				color := uint32(0)
				if bits&bit != 0 {
					color = p.ink
				}
				for range p.scale {
					p.store(a, color)
					a += p.bytes
				}
			}
			at += p.pitch
		}
	}
}

// fill fills a rectangle.
func (p *pixelScreen) fill(x, y, width, height int, color uint32) {
	for ; height > 0; height-- {
		a := p.addr + uintptr(y)*p.pitch + uintptr(x)*p.bytes
		for range width {
			p.store(a, color)
			a += p.bytes
		}
		y++
	}
}

// store writes a pixel.
func (p *pixelScreen) store(a uintptr, color uint32) {
	switch p.bytes {
	case 4:
		arch.Store32(a, color)
	case 3:
		arch.Store8(a, uint8(color))
		arch.Store8(a+1, uint8(color>>8))
		arch.Store8(a+2, uint8(color>>16))
	default:
		arch.Store16(a, uint16(color))
	}
}

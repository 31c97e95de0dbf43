package depot

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// Cursor iterates over the frames of a stack, innermost first.
type Cursor struct {
	layout
	pool  unsafe.Pointer
	next  uint32
	bound uint32 // links lead below this unit
	top   uint32 // number of units
	seen  uint32 // frames so far

	// End is why the stack ends, once Next has returned false; 0 if there is no such ID or the
	// depot is damaged.
	End tracer.End
}

// Frames returns a Cursor for the stack with that ID. Any context.
func (d *Depot) Frames(id uint32) Cursor {
	return Cursor{layout: d.layout, pool: at(d.pool), next: id, bound: id, top: d.top.Load()}
}

// Next returns the next frame. For a tracer.Trap it returns only the vector, and with
// tracer.VectorSyscall the number of the call as addr; for an address outside the text, addr is 0.
// ok is false after the last frame. Any context.
func (c *Cursor) Next() (kind tracer.Kind, addr uintptr, vector uint32, ok bool) {
	for c.next != 0 && c.next < c.top && c.seen < tracer.MaxPacked {
		p := unsafe.Add(c.pool, uintptr(c.next)*c.width)
		v := uint32(*(*uint16)(p)) | uint32(*(*uint8)(unsafe.Add(p, 2)))<<16
		if c.width == 4 {
			v |= uint32(*(*uint8)(unsafe.Add(p, 3))) << 24
		}
		c.next++
		c.seen++
		switch code := v - 2*c.span; {
		case v < c.span:
			return tracer.RA, c.textLo + uintptr(v), 0, true
		case v < 2*c.span:
			return tracer.PC, c.textLo + uintptr(v-c.span), 0, true
		case code < unitCall:
			return tracer.Trap, 0, code, true
		case code < unitWild:
			return tracer.Trap, uintptr(code - unitCall), tracer.VectorSyscall, true
		case code < unitEnd:
			return tracer.PC, 0, 0, true
		case code < unitLink:
			c.End, c.next = tracer.End(code-unitEnd), 0
		default:
			// A link leads to an older unit, so each link's place is lower than the previous one's.
			if code -= unitLink; code >= c.bound {
				c.next = 0
				break
			}
			c.next, c.bound = code, code
			c.seen--
		}
	}
	return 0, 0, 0, false
}

// An image of a depot begins with ImageMagic and eight numbers of eight bytes, little-endian: the
// width of a unit plus 256 times the number of units; the start of the text; its size; then Full,
// Size, Stacks, Frames and Used of [Stats]. Then come the units.
const (
	ImageHeader = 72
	ImageMagic  = "zfdepot1"
)

// FramesOf is [Depot.Frames] for the units in an image.
func FramesOf(units []byte, width, textLo uintptr, span uint32, id uint32) Cursor {
	return Cursor{
		layout: layout{width, textLo, span}, pool: unsafe.Pointer(unsafe.SliceData(units)), next: id,
		bound: id,
		top:   uint32(uintptr(len(units)) / width),
	}
}

// ImageSize returns the number of bytes of the depot's image, which package tools/format/depot
// reads. It grows with each new stack. Any context.
func (d *Depot) ImageSize() int { return ImageHeader + int(d.top.Load())*int(d.width) }

// ImageByte returns the i'th byte of an image for which ImageSize returned size. Any context.
func (d *Depot) ImageByte(size, i int) byte {
	if i >= ImageHeader {
		return *(*byte)(at(d.pool + uintptr(i-ImageHeader)))
	}
	if i < len(ImageMagic) {
		return ImageMagic[i]
	}
	v := uint64(0)
	switch i / 8 {
	case 1:
		v = uint64(d.width) | uint64(size-ImageHeader)/uint64(d.width)<<8
	case 2:
		v = uint64(d.textLo)
	case 3:
		v = uint64(d.span)
	case 4:
		v = d.full
	case 5:
		v = uint64(d.size)
	case 6:
		v = d.stacks
	case 7:
		v = d.frames
	case 8:
		v = d.Stats().Used
	}
	return byte(v >> (i % 8 * 8))
}

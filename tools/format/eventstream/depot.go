package eventstream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// Depot is a depot as the target has sent it.
type Depot struct {
	Full   uint64 // stacks that were refused as there was no room
	Size   uint64 // bytes of the depot
	Stacks uint64 // stacks that have been added
	Frames uint64 // frames in them
	Used   uint64 // bytes that they take, with their part of the index

	units  []byte
	width  uintptr
	textLo uintptr
	span   uint32
}

// Read reads an image. It may be any bytes.
func Read(image []byte) (*Depot, error) {
	if len(image) < depot.ImageHeader || string(image[:len(depot.ImageMagic)]) != depot.ImageMagic {
		return nil, errors.New("this is no stack depot: it does not begin with \"" +
			depot.ImageMagic + "\"")
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(image[8+8*i:]) }
	width, units, span := word(0)&0xff, word(0)>>8, word(2)
	d := &Depot{Full: word(3), Size: word(4), units: image[depot.ImageHeader:]}
	if width != 3 && width != 4 || units > 1<<31 || span > 1<<30 ||
		units*width != uint64(len(d.units)) {
		return nil, fmt.Errorf("the stack depot is damaged: %d units of %d bytes, in %d bytes", units,
			width, len(d.units))
	}
	d.width, d.textLo, d.span = uintptr(width), uintptr(word(1)), uint32(span)
	d.Stacks, d.Frames, d.Used = word(5), word(6), word(7)
	return d, nil
}

// A Frame is one of a stack's.
type Frame struct {
	Kind   tracer.Kind
	Addr   uint64 // 0 for a trap, and if the address is not known
	Vector uint32 // of a trap
	Number uint32 // of the system call, if that is the trap's Vector
}

// Stack returns the frames of the stack with that ID, innermost first, and why it ends: 0
// if there is no such stack.
func (d *Depot) Stack(id uint32) (frames []Frame, end tracer.End) {
	c := depot.FramesOf(d.units, d.width, d.textLo, d.span, id)
	for {
		kind, addr, vector, ok := c.Next()
		if !ok {
			return frames, c.End
		}
		f := Frame{Kind: kind, Addr: uint64(addr), Vector: vector}
		if kind == tracer.Trap {
			f.Addr, f.Number = 0, uint32(addr)
		}
		frames = append(frames, f)
	}
}

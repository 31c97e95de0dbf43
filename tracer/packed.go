package tracer

import "unsafe"

// A stack on its way into a depot (package tracer/depot). Like a Capture, but it keeps only the
// return address of each record, as an offset into the text, packed as the depot stores it, and
// hashes them while it finds them. So the depot finds a known stack without another look at its
// records.

// Packed is a stack's frames as a depot stores them: units of Width bytes, innermost first. Walk
// adds the frames on the stack, Add any others. For one user at a time.
type Packed struct {
	// Width is the number of bytes of a unit, 3 or 4, lowest byte first.
	Width uintptr
	// Hash is the sum of unit[i] * HashFactor^(n-1-i), for n units.
	Hash uint64

	at, end uintptr // addresses in buf: of the next unit, and where walks end
	base    uintptr // the address of buf at that time

	fp                uintptr // where the walk begins, and then where it stopped
	above, top        uintptr // a record must be at above < fp < top
	negText, textSpan uintptr // a return address must satisfy ra + negText < textSpan

	buf [4*MaxPacked + 16]byte
}

const (
	// MaxPacked is the largest number of units.
	MaxPacked = 256
	// HashFactor multiplies a hash before a unit is added to it.
	HashFactor = 0x9e37_79b9_7f4a_7c15

	packedSpare = 8 // units that a walk leaves free for what Add appends
)

// Reset empties p and sets it up for units of width bytes and return addresses textLo <= ra <
// textHi. Any context.
func (p *Packed) Reset(width, textLo, textHi uintptr) {
	p.Width, p.Hash = width, 0
	p.base = p.Buffer()
	p.at = p.base
	p.end = p.at + (MaxPacked-packedSpare-packedUnroll)*width
	p.negText, p.textSpan = -textLo, textHi-textLo
}

// settle corrects the addresses in p after it has moved, as p may on a goroutine's stack at each
// call.
func (p *Packed) settle() {
	if p.base != p.Buffer() {
		p.move()
	}
}

//go:noinline
func (p *Packed) move() {
	moved := p.Buffer() - p.base
	p.at += moved
	p.end += moved
	p.base += moved
}

// packedUnroll is the number of records that the assembly checks in one turn of its loop.
const packedUnroll = 8

// Add adds a unit. It returns false if there is no room. Any context.
func (p *Packed) Add(unit uint32) bool {
	p.settle()
	if p.at-p.Buffer() >= MaxPacked*p.Width {
		return false
	}
	*(*uint32)(pointer(p.at)) = unit
	p.at += p.Width
	p.Hash = p.Hash*HashFactor + uint64(unit)
	return true
}

// Bytes returns the length of the units in bytes. Any context.
func (p *Packed) Bytes() uintptr { return p.at - p.base }

// N returns the number of units. Any context.
func (p *Packed) N() int {
	if p.Width == 3 { // division by a variable is slow
		return int(p.Bytes()) / 3
	}
	return int(p.Bytes()) / 4
}

// Unit returns the i'th unit. Any context.
func (p *Packed) Unit(i int) uint32 {
	v := *(*uint32)(unsafe.Pointer(&p.buf[uintptr(i)*p.Width]))
	if p.Width == 3 {
		v &= 1<<24 - 1
	}
	return v
}

// Outermost returns the last unit; p must not be empty. Any context.
func (p *Packed) Outermost() uint32 {
	p.settle()
	v := *(*uint32)(pointer(p.at - p.Width))
	if p.Width == 3 {
		v &= 1<<24 - 1
	}
	return v
}

// Buffer returns the address of the first unit; up to 12 bytes after the last unit may be read. Any
// context.
func (p *Packed) Buffer() uintptr { return uintptr(unsafe.Pointer(&p.buf)) }

// Full reports whether the last Walk stopped for lack of room.
func (p *Packed) Full() bool { return p.at >= p.end }

// Walk adds the return addresses of the records from fp up on the stack lo <= address < hi, up to
// the first record that fails one of [Capture]'s guards. No record begins below floor. For an
// address that [OnReturn] replaced, the original is added. Memory is read directly; if some of it
// may be unmapped, faults must be handled as [Fixup] says. Any context.
func (p *Packed) Walk(lo, hi, floor, fp uintptr) {
	p.fp = fp
	p.above = max(lo, floor, 1) - 1
	p.top = 0
	if hi-lo >= 16 && hi > lo {
		p.top = hi&^7 - 15
	}
	if p.settle(); p.at >= p.end {
		return
	}
	if numExits != 0 && hooked(lo, hi) {
		packSlow(p)
		return
	}
	pack(p)
}

// Last returns the frame pointer at which the last Walk stopped. Any context.
func (p *Packed) Last() uintptr { return p.fp }

// packSlow is the loop for the cases when a load has faulted, a frame pointer is misaligned, or
// return addresses have been replaced, and for CPUs without assembly.
func packSlow(p *Packed) {
	for p.at < p.end {
		if p.fp <= p.above || p.fp >= p.top || p.fp%8 != 0 {
			return
		}
		ra, ok1 := ReadWord(p.fp + 8)
		next, ok2 := ReadWord(p.fp)
		if ra += p.negText; !ok1 || !ok2 || ra >= p.textSpan {
			return
		}
		ra, _ = TrueReturn(p.fp+8, ra-p.negText)
		if ra += p.negText; ra >= p.textSpan {
			return
		}
		p.settle() // p may have moved at each call, also of this function
		*(*uint32)(pointer(p.at)) = uint32(ra)
		p.at += p.Width
		p.Hash = p.Hash*HashFactor + uint64(ra)
		p.above, p.fp = p.fp, next
	}
}

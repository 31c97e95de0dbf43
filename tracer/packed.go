package tracer

import "unsafe"

// A stack on its way into a depot (package tracer/depot): what a Capture does, but of
// each record only the return address is kept, as an offset into the text, packed as the
// depot stores it, and all of them make one hash while they are found. So a stack that
// the depot knows already is found there without another look at its records.

// Packed is a stack's frames as a depot stores them: units of Width bytes, innermost
// first. What is on the stack is added by Walk, what is known otherwise by Add. Not for
// two at a time.
type Packed struct {
	// Width is the number of bytes of a unit, 3 or 4, lowest byte first.
	Width uintptr
	// Hash is the sum of unit[i] * HashFactor^(n-1-i), for n units.
	Hash uint64

	at, end uintptr // addresses in buf: of the next unit, and where walks end
	base    uintptr // where buf was then
	c       chaser  // negLo, span, negText and textSpan
	buf     [4*MaxPacked + 16]byte
}

const (
	// MaxPacked is the largest number of units.
	MaxPacked = 256
	// HashFactor is what a hash is multiplied with before a unit is added to it.
	HashFactor = 0x9e37_79b9_7f4a_7c15

	packedSpare = 8 // units that a walk leaves for what is added behind it
)

// Reset makes p empty: units of width bytes, return addresses textLo <= ra < textHi. Any
// context.
func (p *Packed) Reset(width, textLo, textHi uintptr) {
	p.Width, p.Hash = width, 0
	p.base = p.Buffer()
	p.at = p.base
	p.end = p.at + (MaxPacked-packedSpare-packedUnroll)*width
	p.c.negText, p.c.textSpan = -textLo, textHi-textLo
}

// settle follows a Packed that has moved, as one on a goroutine's stack may at each call.
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

// packedUnroll is how many records the assembly looks at in one turn of its loop.
const packedUnroll = 4

// Add adds a unit. It reports false if there is no room. Any context.
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
	if p.Width == 3 { // a division by what the compiler does not know is slow
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

// Outermost returns the last unit; there is one. Any context.
func (p *Packed) Outermost() uint32 {
	p.settle()
	v := *(*uint32)(pointer(p.at - p.Width))
	if p.Width == 3 {
		v &= 1<<24 - 1
	}
	return v
}

// Buffer returns the address of the first unit; what lies behind the last may be read up
// to 12 bytes. Any context.
func (p *Packed) Buffer() uintptr { return uintptr(unsafe.Pointer(&p.buf)) }

// Full reports whether the last Walk stopped because there was no more room.
func (p *Packed) Full() bool { return p.at >= p.end }

// Walk adds the return addresses of the records from fp up on the stack lo <= address <
// hi, up to the first record that fails a guard: those of [Capture]. No record begins
// below floor. Memory is read directly; if it may be missing, faults must be handled as
// [Fixup] says. Any context.
func (p *Packed) Walk(lo, hi, floor, fp uintptr) {
	p.c.negLo, p.c.span = -lo, 0
	if hi-lo >= 16 && hi > lo {
		p.c.span = (hi-lo)/8 - 1
	}
	p.c.fp = fp
	p.c.min = ^uintptr(0) // the index before the lowest that a record may have
	if floor > lo {
		p.c.min = (floor-lo+7)/8 - 1
	}
	if p.settle(); p.at < p.end {
		pack(p)
	}
}

// Last returns the frame pointer at which the last Walk stopped. Any context.
func (p *Packed) Last() uintptr { return p.c.fp }

// packSlow is the loop where a load has faulted, and on CPUs for which there is no
// assembly.
func packSlow(p *Packed) {
	for p.at < p.end {
		t := p.c.fp + p.c.negLo
		t = t>>3 | t<<61
		if t >= p.c.span || int(t) <= int(p.c.min) {
			return
		}
		ra, ok1 := ReadWord(p.c.fp + 8)
		next, ok2 := ReadWord(p.c.fp)
		if ra += p.c.negText; !ok1 || !ok2 || ra >= p.c.textSpan {
			return
		}
		*(*uint32)(pointer(p.at)) = uint32(ra)
		p.at += p.Width
		p.Hash = p.Hash*HashFactor + uint64(ra)
		p.c.min, p.c.fp = t, next
	}
}

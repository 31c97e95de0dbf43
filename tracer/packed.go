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

	fp                uintptr // where the walk begins, and then where it has stopped
	above, top        uintptr // a record is at above < fp < top
	negText, textSpan uintptr // a return address is at ra + negText < textSpan

	buf [4*MaxPacked + 16]byte
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
	p.negText, p.textSpan = -textLo, textHi-textLo
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
const packedUnroll = 8

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
// below floor. What [OnReturn] has replaced is added as it was. Memory is read directly; if
// it may be missing, faults must be handled as [Fixup] says. Any context.
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

// packSlow is the loop where a load has faulted, where a frame pointer is misaligned, where
// return addresses have been replaced, and on CPUs for which there is no assembly.
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
		p.settle() // p may have moved at each call, that of this function too
		*(*uint32)(pointer(p.at)) = uint32(ra)
		p.at += p.Width
		p.Hash = p.Hash*HashFactor + uint64(ra)
		p.above, p.fp = p.fp, next
	}
}

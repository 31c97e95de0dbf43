package tracer

// The typed form: a trace on a screen, to be typed from a photo of it. This file is its
// one description, and writes it; the host's tools/trace reads it (zf symbolize -typed).
//
// # Characters
//
// A line is made of digits to the base 16, but not of those of hexadecimal numbers:
//
//	0 1 2 3 4 5 6 7 8 9 E H K P W Y
//
// Of the characters that look alike on a photo (0 O D Q, 1 I L, 2 Z, 4 A, 5 S, 6 G, 7 T,
// 8 B, E F, H N M, K X, P R, V Y) one alone is among them, so a reader takes any of them for
// that one. Upper and lower case are the same, and blanks say nothing. The writer puts them
// behind the number, behind the type and before the check ([TypedGap]).
//
// # Lines
//
//	NN T DDDD CC
//
// NN is the line's number in its trace, from 00, at most [TypedLines]-1. T says what the
// digits are, which have no leading zeros where their number is not given:
//
//	0 K BBBBBBBB  the begin, line 00: K is 3*(kind-1) + context-1 ([TraceKind], [Context]),
//	              B the first 32 bits of the build ID; fewer digits: it has no more
//	1 to 4 A      a frame of that [Kind]: A is its address, counted from the start of the text
//	5 VVV E       a trap: its vector, the low 24 bits of the error code
//	6 H           the upper 32 bits of the number in the next line
//	7 N           the frame before, N times more
//	8 E CCCC      the end of the walk ([End]), and of the trace; C is the sum below
//	9 E H K       a frame of the kind 1 to 4 outside of the text: the low 32 bits of its
//	              address, in the order of the characters above
//	W N           N frames are left out here
//	P A           in front of line 8: the value of the end, its low 32 bits
//
// What is more is in no line: frame pointers, registers, stacks. The words beside the lines
// on the screen, such as the reason, are to be read and not to be typed.
//
// # Checks
//
// CC are the two check digits of a Reed-Solomon code over the field of 16 elements
// (x^4+x+1; the generator's roots are x and x^2, the first digit is that of the highest
// power), of which the first digit, which is not written, is the number of digits of the
// line with the check. So one wrong digit is always noticed and told from every other, and
// any two are noticed. The sum in the last line is the low half of the CRC-32 of all digits
// of the lines before it, without their checks, each written as above.

const (
	// TypedDigits are the digits of the typed form.
	TypedDigits = "0123456789EHKPWY"
	// TypedMax is the largest number of digits of a line, with the check.
	TypedMax = 14
	// TypedWidth is the largest number of columns that a line takes.
	TypedWidth = TypedMax + 6
	// TypedLines is the largest number of lines of a trace.
	TypedLines = 256
	// TypedBuild is how many digits of the build ID are in a trace, hexadecimal ones.
	TypedBuild = 8
)

// The types of lines.
const (
	TypedBegin = 0
	// A frame's is its Kind from PC to Scan, or Trap.
	TypedHigh     = 6
	TypedAgain    = 7
	TypedStop     = 8
	TypedAbsolute = 8 // and the kind
	TypedValue    = 13
	TypedLeftOut  = 14
)

// Typed makes the lines of a trace. Its zero value is ready for a Begin. It reads nothing
// but its arguments; any context.
type Typed struct {
	// TextLo and TextHi bound the text.
	TextLo, TextHi uintptr

	next  int // number of the next line
	sum   CRC
	kind  Kind // of the frame before
	addr  uintptr
	again uint // how often it has come once more

	digits [TypedMax]byte // values of a line, so far
	n      int
	lines  [4]typedLine
	nLines int
}

type typedLine struct {
	b [TypedWidth]byte
	n int
}

// Lines returns how many lines the latest call has made.
func (t *Typed) Lines() int { return t.nLines }

// Line returns the i'th of them, as it stands on the screen, without a line end. It holds
// until the next call of another method.
func (t *Typed) Line(i int) []byte { return t.lines[i].b[:t.lines[i].n] }

// Begin makes the first line of a trace.
func (t *Typed) Begin(kind TraceKind, context Context, build []byte) {
	t.next, t.sum, t.kind, t.again, t.nLines = 0, CRC{}, 0, 0, 0
	t.line(TypedBegin)
	t.digit(3*(uint64(kind)-1) + uint64(context) - 1)
	for _, b := range build[:min(len(build), TypedBuild/2)] {
		t.digit(uint64(b >> 4))
		t.digit(uint64(b & 15))
	}
	t.end()
}

// Frame makes the lines of a frame: none if it is the one before once more.
func (t *Typed) Frame(f *Frame) {
	t.nLines = 0
	if f.Kind == t.kind && f.Addr == t.addr && f.Kind != Trap {
		t.again += 1 + uint(f.Repeat)
		return
	}
	t.repeat()
	if t.next > TypedLines-6 { // two lines, and then there must be room for the end
		t.kind = 0
		return
	}
	t.kind, t.addr = f.Kind, f.Addr
	switch {
	case f.Kind == Trap:
		t.line(uint64(Trap))
		t.fixed(uint64(f.Vector), 3)
		t.number(uint64(f.Error) & 0xffffff)
		t.end()
	case f.Addr >= t.TextLo && f.Addr < t.TextHi && (f.Addr-t.TextLo)>>32 == 0:
		t.line(uint64(f.Kind))
		t.number(uint64(f.Addr - t.TextLo))
		t.end()
	default:
		t.absolute(TypedAbsolute+uint64(f.Kind), f.Addr)
	}
	t.again = uint(f.Repeat)
}

// LeftOut makes the lines for n frames that are left out.
func (t *Typed) LeftOut(n uint64) {
	t.nLines = 0
	t.repeat()
	t.kind = 0
	if t.next <= TypedLines-6 {
		t.line(TypedLeftOut)
		t.number(min(n, 1<<32-1))
		t.end()
	}
}

// Stop makes the last lines of a trace.
func (t *Typed) Stop(end End, value uintptr) {
	t.nLines = 0
	t.repeat()
	if !end.Complete() {
		t.absolute(TypedValue, value)
	}
	sum := t.sum.Sum()
	t.line(TypedStop)
	t.digit(uint64(end))
	t.fixed(uint64(sum&0xffff), 4)
	t.end()
}

// repeat makes the line for frames that were the same.
func (t *Typed) repeat() {
	if t.again > 0 {
		t.line(TypedAgain)
		t.number(uint64(t.again))
		t.end()
		t.again = 0
	}
}

// absolute makes the lines for a number of 64 bits.
func (t *Typed) absolute(typ uint64, v uintptr) {
	if v>>32 != 0 {
		t.line(TypedHigh)
		t.number(uint64(v) >> 32)
		t.end()
	}
	t.line(typ)
	t.number(uint64(v) & 0xffffffff)
	t.end()
}

// line begins a line.
//
//go:noinline
func (t *Typed) line(typ uint64) {
	t.n = 0
	t.fixed(uint64(t.next), 2)
	t.digit(typ)
	t.next++
}

//go:noinline
func (t *Typed) digit(v uint64) {
	if t.n < TypedMax-2 {
		t.digits[t.n] = byte(v & 15)
		t.n++
	}
}

// fixed appends v in n digits.
//
//go:noinline
func (t *Typed) fixed(v uint64, n int) {
	for n--; n >= 0; n-- {
		t.digit(v >> (4 * uint(n)))
	}
}

// number appends v without leading zeros.
func (t *Typed) number(v uint64) {
	n := 1
	for v>>(4*uint(n)) != 0 && n < 16 {
		n++
	}
	t.fixed(v, n)
}

// end ends a line: it adds the check, and writes it out.
func (t *Typed) end() {
	for _, d := range t.digits[:t.n] {
		t.sum.Byte(TypedDigits[d])
	}
	a, b := TypedCheck(t.digits[:t.n])
	t.digits[t.n], t.digits[t.n+1] = a, b
	t.n += 2
	if t.nLines == len(t.lines) {
		return
	}
	l := &t.lines[t.nLines]
	t.nLines++
	l.n = 0
	for i := 0; i < t.n; i++ {
		if TypedGap(i, t.n) {
			l.b[l.n] = ' '
			l.n++
		}
		l.b[l.n] = TypedDigits[t.digits[i]&15]
		l.n++
	}
}

// TypedGap reports whether a blank stands before digit i of n: between the parts of a line,
// and in more than six digits of one part before each four from the end. Any context.
func TypedGap(i, n int) bool {
	left := n - 2 - i // digits up to the check
	return i == 2 || i == 3 || left == 0 || i > 3 && n-5 > 6 && left > 0 && left%4 == 0
}

// TypedCheck returns the check digits of a line of these digits, all by their values. Any
// context.
func TypedCheck(digits []byte) (a, b byte) {
	a, b = typedStep(0, 0, byte(len(digits)+2))
	for _, d := range digits {
		a, b = typedStep(a, b, d)
	}
	return a, b
}

// typedStep goes on with the division by (x+2)(x+4) = x^2 + 6x + 8, whose remainder is a
// and b so far.
func typedStep(a, b, digit byte) (byte, byte) {
	f := a ^ digit
	return b ^ typedMul(f, 6), typedMul(f, 8)
}

// typedMul multiplies in the field of 16 elements.
func typedMul(a, b byte) (p byte) {
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			p ^= a
		}
		a <<= 1
		if a&16 != 0 {
			a ^= 0x13
		}
	}
	return p
}

package tracer

// The target's side of the trace format (wire.go) in its text and markup forms, and the one
// interface over all forms: the panic path calls the same methods whatever form the user chose.
// Each method sends its line at once, so that what was written is out if the next step dies. The
// compact form sends a line when it is full, and after frame 0.

// Form is how a trace is written.
type Form uint8

const (
	// Text is readable by itself.
	Text Form = iota
	// Markup is LLVM symbolizer markup inside the text form.
	Markup
	// Compact takes few bytes.
	Compact
	// Bare is the byte string of the compact form without its lines, followed by the CRC.
	Bare
)

// Writer writes traces one after another. It allocates nothing; its own memory is some 3 KiB, so it
// is best a static variable. Any context, one user at a time.
type Writer struct {
	// Put takes the next byte for the wire.
	Put func(b byte)
	// Form is the form of the following traces.
	Form Form
	// Arch is the CPU whose registers the traces have; nil: Native.
	Arch *Arch

	// CPU is 1 + the number of the CPU of the next trace; 0: the trace does not say. Of is the
	// number of the trace of the death for which that CPU was stopped; 0: none.
	CPU, Of uint32

	// The text that the markup form's mmap line covers.
	textLo, textSize uintptr

	crc   uint32 // over the bytes that wire.go says, inverted
	lines uint32

	c packer // compact form only
}

// Begin starts a trace. thread and goroutine are the numbers of what ran, goroutine 0 if none ran;
// build is the GNU build ID; textLo and textHi bound the text, for the markup form.
func (w *Writer) Begin(seq uint32, kind TraceKind, ctx Context, thread uint32, goroutine uint64,
	build []byte, textLo, textHi uintptr) {
	w.crc, w.lines = ^uint32(0), 0
	w.textLo, w.textSize = textLo, textHi-textLo
	if w.Form >= Compact {
		w.packBegin(seq, kind, ctx, thread, goroutine, build)
		return
	}
	w.str("zf1 begin ")
	w.dec(uint64(seq))
	w.byte(' ')
	w.str(kind.String())
	w.byte(' ')
	w.str(ctx.String())
	w.str(" thread=")
	w.dec(uint64(thread))
	if goroutine != 0 {
		w.str(" goroutine=")
		w.dec(goroutine)
	}
	if w.CPU != 0 {
		w.str(" cpu=")
		w.dec(uint64(w.CPU - 1))
	}
	if w.Of != 0 {
		w.str(" of=")
		w.dec(uint64(w.Of))
	}
	w.str(" build=")
	w.build(build)
	w.eol()
	if w.Form == Markup {
		w.str("{{{reset}}}")
		w.eol()
		w.str("{{{module:0:kernel:elf:")
		w.build(build)
		w.str("}}}")
		w.eol()
		w.str("{{{mmap:")
		w.hex(uint64(textLo))
		w.byte(':')
		w.hex(uint64(textHi - textLo))
		w.str(":load:0:rx:")
		w.hex(uint64(textLo))
		w.str("}}}")
		w.eol()
	}
}

// Whole makes the next trace build on none before it, in the compact form.
func (w *Writer) Whole() { w.c.finished = false }

func (w *Writer) build(id []byte) {
	if len(id) == 0 {
		w.byte('-')
	}
	for _, b := range id {
		w.byte(digit(b >> 4))
		w.byte(digit(b & 15))
	}
}

// Reason says in words why the trace was written. It is cut to MaxReason bytes.
func (w *Writer) Reason(text []byte) {
	if len(text) > MaxReason {
		text = text[:MaxReason]
	}
	if w.Form >= Compact {
		w.packReason(text)
		return
	}
	w.str("zf1 reason ")
	for _, b := range text {
		w.byte(printable(b))
	}
	w.eol()
}

// MaxReason is the length in bytes to which a reason is cut.
const MaxReason = 1024

func printable(b byte) byte {
	if b < 0x20 || b == 0x7f {
		return '?'
	}
	return b
}

// Cause names the trap that made the trace: vector, error code, the pc that
// trapped and, if hasAddr, the address that faulted.
func (w *Writer) Cause(vector, code uint32, pc, addr uintptr, hasAddr bool) {
	if w.Form >= Compact {
		w.packCause(vector, code, addr, hasAddr)
		return
	}
	w.str("zf1 cause vector=")
	w.vector(vector, code)
	w.str(" pc=")
	w.hex(uint64(pc))
	if hasAddr {
		w.str(" addr=")
		w.hex(uint64(addr))
	}
	w.eol()
}

func (w *Writer) vector(vector, code uint32) {
	w.dec(uint64(vector))
	w.str(" name=")
	w.str(VectorName(vector))
	w.str(" error=")
	w.hex(uint64(code))
}

// Mem dumps the words found from addr upwards, WordsPerLine to a line.
func (w *Writer) Mem(addr uintptr, words []uintptr) {
	if w.Form >= Compact {
		w.packMem(addr, words)
		return
	}
	for i := range words {
		if i%WordsPerLine == 0 {
			w.str("zf1 mem ")
			w.hex(uint64(addr) + uint64(i)*8)
			w.byte(':')
		}
		w.byte(' ')
		w.bareHex(uint64(words[i]))
		if i%WordsPerLine == WordsPerLine-1 || i == len(words)-1 {
			w.eol()
		}
	}
}

// WordsPerLine is the number of words on a mem line: more words of 16 digits would not fit on 80
// columns.
const WordsPerLine = 3

// Frame writes frame number i of the trace, and how often it repeats; stack is the name of its
// stack, or empty. i counts all frames, also those that are folded or left out. Frame 0 ends a line
// of the compact form, so that what and where are out before the walk begins.
func (w *Writer) Frame(i int, f *Frame, stack string) {
	if w.Form >= Compact {
		w.packFrame(i, f)
		return
	}
	w.str("zf1 ")
	if w.Form == Markup && (f.Kind == PC || f.Kind == RA) && f.Addr-w.textLo < w.textSize {
		w.str("{{{bt:")
		w.dec(uint64(i))
		w.byte(':')
		w.hex(uint64(f.Addr))
		w.byte(':')
		w.str(f.Kind.String())
		w.str("}}}")
	} else {
		w.byte('#')
		w.dec(uint64(i))
		w.byte(' ')
		w.str(f.Kind.String())
		w.byte(' ')
		w.hex(uint64(f.Addr))
	}
	if f.Kind == Trap {
		w.str(" vector=")
		w.vector(f.Vector, f.Error)
	} else {
		if f.Kind == PC {
			w.str(" sp ")
			w.hex(uint64(f.SP))
		}
		w.str(" fp ")
		w.hex(uint64(f.FP))
	}
	w.byte(' ')
	if len(stack) == 0 {
		stack = "-"
	}
	w.str(stack)
	w.eol()
	if f.Repeat > 0 {
		w.str("zf1 repeat ")
		w.dec(uint64(f.Repeat))
		w.str(" fp ")
		w.hex(uint64(f.Last()))
		w.eol()
	}
}

// LeftOut says that n frames are left out between the previous frame and the next one.
func (w *Writer) LeftOut(n uint64) {
	if w.Form >= Compact {
		w.packLeftOut(n)
		return
	}
	w.str("zf1 ... ")
	var b [MaxDigits]byte
	first := Digits(&b, n, 10)
	for i := first; i < MaxDigits; i++ {
		if i > first && (MaxDigits-i)%3 == 0 {
			w.byte(',')
		}
		w.byte(b[i])
	}
	w.str(" frames left out")
	w.eol()
}

// Stop says why the walk ended, and at which value.
func (w *Writer) Stop(e End, value uintptr) {
	if w.Form >= Compact {
		w.packStop(e, value)
		return
	}
	w.str("zf1 stop ")
	w.str(e.String())
	if e.Complete() {
		w.str(" (complete)")
	} else {
		w.byte(' ')
		w.hex(uint64(value))
		w.str(" (truncated)")
	}
	w.eol()
}

// Registers writes the values of the registers whose bit is set in have; both are indexed like
// Arch.Registers. Three to a line.
func (w *Writer) Registers(values *[NumRegisters]uintptr, have uint64) {
	names := w.Arch.or().Registers
	have &= 1<<uint(len(names)) - 1
	if w.Form >= Compact {
		w.packRegisters(values, have)
		return
	}
	col := 0
	for i := range values {
		if have&(1<<uint(i)) == 0 {
			continue
		}
		if col == 0 {
			w.str("zf1 reg")
		}
		w.byte(' ')
		w.str(names[i])
		w.byte('=')
		w.hex(uint64(values[i]))
		if col++; col == 3 {
			col = 0
			w.eol()
		}
	}
	if col != 0 {
		w.eol()
	}
}

// Stack writes the next row of the table of stacks. The compact form needs all rows in order,
// including empty ones, because a frame has its stack's number; up to MaxStacks.
func (w *Writer) Stack(s *Stack) {
	if w.Form >= Compact {
		w.packStack(s)
		return
	}
	w.str("zf1 stack ")
	w.str(s.Name)
	w.byte(' ')
	w.hex(uint64(s.Lo))
	w.str(" size=")
	w.dec(uint64(s.Size()))
	w.str(" used>=")
	w.dec(uint64(s.Used))
	w.str(" free<=")
	w.dec(uint64(s.Size() - s.Used))
	w.str(" limit=")
	w.dec(uint64(s.Limit))
	w.byte(' ')
	w.str(s.Level().String())
	w.eol()
}

// Done ends the trace with its CRC.
func (w *Writer) Done() {
	if w.Form >= Compact {
		w.packDone()
		return
	}
	lines, crc := w.lines, ^w.crc
	w.str("zf1 done ")
	w.dec(uint64(lines))
	w.str(" crc=")
	w.hex(uint64(crc))
	w.eol()
}

// Last writes the single line that is left when the panic path has faulted twice. It is the same in
// all forms.
func (w *Writer) Last(kind TraceKind, pc uintptr, reason []byte) {
	w.str("zf1 last ")
	w.str(kind.String())
	w.byte(' ')
	w.hex(uint64(pc))
	w.byte(' ')
	for i, b := range reason {
		if i == MaxReason {
			break
		}
		w.byte(printable(b))
	}
	w.eol()
}

// eol ends a line. In the compact form the CRC is over the packed bytes instead.
func (w *Writer) eol() {
	w.Put('\r')
	w.Put('\n')
	w.lines++
	if w.Form < Compact {
		w.sum('\n')
	}
}

func (w *Writer) byte(b byte) {
	w.Put(b)
	if w.Form < Compact {
		w.sum(b)
	}
}

// sum adds a byte to the CRC.
func (w *Writer) sum(b byte) { w.crc = crcByte(w.crc, b) }

var crcTable = [16]uint32{
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
}

// str writes s byte by byte: ranging over a string would call the runtime.
//
//go:noinline
func (w *Writer) str(s string) {
	for i := 0; i < len(s); i++ {
		w.byte(s[i])
	}
}

func (w *Writer) hex(v uint64) {
	w.byte('0')
	w.byte('x')
	w.bareHex(v)
}

func (w *Writer) bareHex(v uint64) { w.number(v, 16) }

func (w *Writer) dec(v uint64) { w.number(v, 10) }

func (w *Writer) number(v, base uint64) {
	var b [MaxDigits]byte
	for i := Digits(&b, v, base); i < MaxDigits; i++ {
		w.byte(b[i])
	}
}

// MaxDigits is the room that Digits needs, in bytes.
const MaxDigits = 20

// Digits writes v in base 10 or 16 right-aligned into b and returns the index
// of the first digit. Any context.
func Digits(b *[MaxDigits]byte, v, base uint64) (first int) {
	i := MaxDigits
	for i > 0 {
		i--
		b[i] = digit(byte(v % base))
		if v /= base; v == 0 {
			break
		}
	}
	return i
}

func digit(b byte) byte {
	if b < 10 {
		return '0' + b
	}
	return 'a' + b - 10
}

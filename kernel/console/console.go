package console

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// Under the kernel lock; the panic path takes none.
var (
	com1     = arch.UART{Base: arch.UARTConsole}
	midway   bool    // the last byte was not a line feed, sent or not
	speech   uint32  // if it is mute, nothing goes to COM1, although it exists
	onScreen uintptr // address of the function that shows a byte on the screen; 0: there is none
	inRaw    bool    // Raw has begun a line, and FreshLine has not ended it
)

// Init finds and sets up COM1 ([arch.UART.Init]). Without a UART all output is dropped. Early
// context.
func Init() { com1.Init() }

// Keep stores a second copy of where the text goes (arch.Keep). Early context.
func Keep() {
	com1.Keep()
	arch.KeepVar(&speech)
	arch.KeepVar(&onScreen)
	arch.KeepVar(&tap)
	arch.KeepVar(&portFlush)
	arch.KeepVar(&portSend)
}

// Present reports whether a UART answers.
func Present() bool { return com1.Present() }

// Use sets where the text goes from now on: to COM1, to a screen through the function show, unless
// that is nil, or to both. COM1 is read in any case. show must be a top-level function. Early
// context.
func Use(serial bool, show func(b byte)) {
	speech, onScreen = 0, 0
	if !serial {
		speech = mute
	}
	if show != nil {
		onScreen = arch.EntryOf(show)
	}
}

// mute is a value that nobody writes by mistake, so that a crash that has damaged it is still
// reported.
const mute = 0x6574756d

// OnScreen reports whether the text goes to the screen. Any context.
func OnScreen() bool { return onScreen != 0 }

// Byte sends one byte unchanged and returns once the UART has taken it.
func Byte(b byte) {
	TraceByte(b)
	shown(b)
}

// shown shows a byte on the screen, if text goes there. Not inlined: the call is in one place
// (tools/symbol/stacks).
//
//go:noinline
func shown(b byte) {
	if onScreen != 0 {
		arch.FuncAt[func(byte)](&onScreen)(b)
	}
}

// TraceByte is Byte for text that the screen shows in another form: the lines of a trace. Byte
// calls it for all text, so code for traces only belongs in fault.putTrace.
func TraceByte(b byte) {
	if onPort {
		leavePort()
	}
	midway = b != '\n'
	keepTail(b)
	if speech != mute {
		com1.Send(b)
	}
	tapped(b)
}

// Text is Byte for many bytes that a program writes: they go through the port that UsePort set, if
// there is one, and otherwise to the UART in bursts.
func Text(p []byte) {
	if portSend != 0 {
		enterPort()
		portText(p)
		return
	}
	burst(p)
}

// TextByte is Text for one byte.
func TextByte(b byte) {
	one[0] = b
	Text(one[:])
}

// one is a byte that is being sent. Under the kernel lock.
var one [1]byte

// burst is Byte for many bytes.
func burst(p []byte) {
	for len(p) > 0 {
		burst := p[:min(arch.UARTRoom, len(p))]
		p = p[len(burst):]
		if onPort {
			leavePort()
		}
		midway = true // a trace that comes in between begins a line
		for _, b := range burst {
			keepTail(b)
		}
		if speech != mute {
			com1.SendAll(burst)
		}
		midway = burst[len(burst)-1] != '\n'
		if tap == 0 && onScreen == 0 {
			continue
		}
		for _, b := range burst {
			tapped(b)
			shown(b)
		}
	}
}

// Raw sends bytes unchanged, and tells only the port about them: they are no part of the text, and
// a line continues after them as if they were not there. If an NMI's trace comes in between, all of
// them are sent again after it.
func Raw(p []byte) {
	if onPort {
		leavePort()
	}
	was := inRaw
	for sent := 0; sent < len(p); {
		n := min(sent+arch.UARTRoom, len(p))
		inRaw = true
		com1.SendAll(p[sent:n])
		if sent = n; !inRaw {
			sent, midway = 0, true // the end of the step is in the text
		}
	}
	inRaw = was
}

// tap, when not 0, is the address of the function that [Tap] set. Set once at boot.
var tap uintptr

// Tap sets a function that gets each byte after it was sent, or would have been if a UART answered.
// It must be a top-level function; it runs in the context of the sender. Early context. Not
// inlined, because tools/symbol/stacks finds its argument in the code
// (tools/symbol/stacks/kernel.txt).
//
//go:noinline
func Tap(f func(b byte)) { tap = arch.EntryOf(f) }

// tapped gives a byte to the tap.
func tapped(b byte) {
	if tap != 0 {
		arch.FuncAt[func(byte)](&tap)(b)
	}
}

// Flush waits until the last byte has left the UART. Call it before ending the machine, or those
// bytes are lost.
func Flush() {
	if onPort {
		leavePort()
	}
	com1.Flush()
}

// String sends s; a line feed goes out as carriage return and line feed.
func String(s string) {
	for len(s) > 0 {
		n := 0
		for n < len(s) && s[n] != '\n' {
			n++
		}
		burst(unsafe.Slice(unsafe.StringData(s), n))
		if s = s[n:]; len(s) > 0 {
			char('\n')
			s = s[1:]
		}
	}
}

// Line sends s as String does, and a line feed.
func Line(s string) {
	String(s)
	String("\n")
}

// Printf sends format as String does, with the numbers args in it: %Nd stands for decimal,
// right-aligned in N characters, and %x for hexadecimal after 0x.
func Printf(format string, args ...uint64) {
	from := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		String(format[from:i])
		width := 0
		for i++; format[i] <= '9'; i++ {
			width = 10*width + int(format[i]-'0')
		}
		if format[i] == 'x' {
			Hex(args[0])
		} else {
			DecPad(args[0], width)
		}
		from, args = i+1, args[1:]
	}
	String(format[from:])
}

// Bytes sends b as String does, with '?' for other control characters.
func Bytes(b []byte) {
	for _, c := range b {
		if c != '\n' && (c < ' ' || c == 0x7f) {
			c = '?'
		}
		char(c)
	}
}

func char(c byte) {
	if c == '\n' {
		Byte('\r')
	}
	Byte(c)
}

// Dec sends v in decimal.
//
//go:noinline
func Dec(v uint64) { number(v, 10, 0) }

// DecPad sends v in decimal, right-aligned in a field of width characters.
//
//go:noinline
func DecPad(v uint64, width int) { number(v, 10, width) }

// Hex sends v in hexadecimal after 0x.
func Hex(v uint64) {
	Byte('0')
	Byte('x')
	number(v, 16, 0)
}

func number(v, base uint64, width int) {
	var b [tracer.MaxDigits]byte
	first := tracer.Digits(&b, v, base)
	for i := tracer.MaxDigits - first; i < width; i++ {
		Byte(' ')
	}
	for _, c := range b[first:] {
		Byte(c)
	}
}

// FreshLine ends a line that others may have begun.
func FreshLine() {
	if inRaw {
		// The reader removes what Raw began from the text, and this line end with it.
		inRaw = false
		text := midway
		String("\n")
		midway = text
	}
	if midway {
		String("\n")
	}
}

package console

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// Under the kernel lock; the panic path takes none.
var (
	com1     = arch.UART{Base: arch.UARTConsole}
	midway   bool    // the last byte was no line feed, sent or not
	speech   uint32  // if it is mute, nothing goes to COM1, although it is there
	onScreen uintptr // address of the function that shows a byte on the screen; 0: none does
	inRaw    bool    // Raw has begun a line, and FreshLine has not ended it
)

// Init finds and sets up COM1 ([arch.UART.Init]). Without a UART all output is dropped. Early
// context.
func Init() { com1.Init() }

// Keep has arch keep where the text goes. Early context.
func Keep() {
	com1.Keep()
	arch.Keep(unsafe.Pointer(&speech), unsafe.Sizeof(speech))
	arch.Keep(unsafe.Pointer(&onScreen), unsafe.Sizeof(onScreen))
	arch.Keep(unsafe.Pointer(&tap), unsafe.Sizeof(tap))
	arch.Keep(unsafe.Pointer(&portFlush), unsafe.Sizeof(portFlush))
	arch.Keep(unsafe.Pointer(&portSend), unsafe.Sizeof(portSend))
}

// Present reports whether a UART answers.
func Present() bool { return com1.Present() }

// Use says where the text goes from now on: to COM1, to a screen by the function show, unless
// that is nil, or to both. COM1 is read in any case. show must be a top-level function. Early
// context.
func Use(serial bool, show func(b byte)) {
	speech, onScreen = 0, 0
	if !serial {
		speech = mute
	}
	if show != nil {
		onScreen = **(**uintptr)(unsafe.Pointer(&show))
	}
}

// mute is a value that nobody writes by mistake: a crash that has damaged it is told.
const mute = 0x6574756d

// OnScreen reports whether the text goes to the screen. Any context.
func OnScreen() bool { return onScreen != 0 }

// Byte sends one byte as it is and returns once the UART has taken it.
func Byte(b byte) {
	TraceByte(b)
	shown(b)
}

// shown shows a byte on the screen, if text goes there. Not inlined: the call is in one place
// (tools/stacks).
//
//go:noinline
func shown(b byte) {
	if onScreen != 0 {
		p := &onScreen
		(*(*func(byte))(unsafe.Pointer(&p)))(b)
	}
}

// TraceByte is Byte for what the screen shows in another form: the lines of a trace. Byte calls
// it for all text: what is for traces alone belongs in fault.putTrace.
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

// Text is Byte for many bytes at a time that a program writes: they go by the port that
// UsePort has set, if there is one, and otherwise the UART gets them in bursts.
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

// one is a byte on its way. Under the kernel lock.
var one [1]byte

// burst is Byte for many bytes.
func burst(p []byte) {
	for len(p) > 0 {
		burst := p[:min(arch.UARTRoom, len(p))]
		p = p[len(burst):]
		if onPort {
			leavePort()
		}
		midway = true // a trace that gets in between begins a line
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

// Raw sends bytes as they are, of which nobody but the port is told: they are no part of
// the text, and a line goes on behind them as if they were not there. When a trace gets in
// between, that of an NMI, all of them go out once more behind it.
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

// Tap sets a function that is given each byte that was sent, or would have been if a
// UART answered, after it was sent. It must be a top-level function; it runs in the
// context of the sender. Early context. Not inlined: its argument is looked for in the
// code (tools/stacks/kernel.txt).
//
//go:noinline
func Tap(f func(b byte)) { tap = **(**uintptr)(unsafe.Pointer(&f)) }

// tapped gives a byte to the tap.
func tapped(b byte) {
	if tap != 0 {
		p := &tap
		(*(*func(byte))(unsafe.Pointer(&p)))(b)
	}
}

// Flush waits until the last byte has left the UART. Who ends the machine calls
// it first: what is still inside is lost then.
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

// Hex sends v in hexadecimal behind 0x.
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

// FreshLine ends the line that others may have begun.
func FreshLine() {
	if inRaw {
		// The reader takes what Raw has begun out of the text, and this line end with it.
		inRaw = false
		text := midway
		String("\n")
		midway = text
	}
	if midway {
		String("\n")
	}
}

// Package console is the serial port COM1 and the few verbs by which
// kernel-context code writes text to it. It is polled and takes no lock, so it
// works in every context, the panic path included; it allocates nothing and
// imports the tracer for its digits only.
package console

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/tracer"
)

// The 16550 UART's registers, as offsets from its base port (National
// Semiconductor PC16550D data sheet, table II).
const (
	com1 = 0x3f8

	regData    = 0 // transmit holding register; divisor low byte when DLAB
	regIER     = 1 // interrupt enable; divisor high byte when DLAB
	regFIFO    = 2
	regLine    = 3 // word format, DLAB
	regModem   = 4
	regStatus  = 5
	regScratch = 7

	lineDLAB     = 0x80
	line8N1      = 0x03
	statusTHRE   = 0x20 // transmit holding register empty
	statusTEMT   = 0x40 // transmitter empty: the last bit is out
	modemReady   = 0x03 // DTR, RTS
	fifoOnClear  = 0x07
	divisor      = 1 // 115200 baud of a 1.8432 MHz clock
	scratchProbe = 0x5a
)

// How often the status is polled before a byte is given up: a panic must not hang
// on a dead port, but an emulator's port stands still for as long as its host is
// busy. The first number is some 20 seconds at the speed of an ISA port, the
// second, for a port that has stood still once, a millisecond.
const (
	maxPolls     = 20_000_000
	stalledPolls = 1_000
)

var (
	absent  bool // no UART answers
	stalled bool // the last byte was given up
	midway  bool // the last byte was no line feed
)

// Init finds and sets up COM1: 115200 baud, 8 data bits, no parity, FIFO on,
// interrupts off. Without a UART all output is dropped. Early context.
func Init() {
	amd64.Out8(com1+regScratch, scratchProbe)
	if amd64.In8(com1+regScratch) != scratchProbe {
		absent = true
		return
	}
	Flush() // the loader's last words
	amd64.Out8(com1+regIER, 0)
	amd64.Out8(com1+regLine, lineDLAB|line8N1)
	amd64.Out8(com1+regData, divisor)
	amd64.Out8(com1+regIER, 0)
	amd64.Out8(com1+regLine, line8N1)
	amd64.Out8(com1+regFIFO, fifoOnClear)
	amd64.Out8(com1+regModem, modemReady)
}

// Present reports whether a UART answers.
func Present() bool { return !absent }

// Byte sends one byte as it is and returns once the UART has taken it.
func Byte(b byte) {
	if absent {
		return
	}
	if wait(statusTHRE) {
		midway = b != '\n'
		amd64.Out8(com1+regData, b)
	}
}

// Flush waits until the last byte has left the UART. Who ends the machine calls
// it first: what is still inside is lost then.
func Flush() {
	if !absent {
		wait(statusTEMT)
	}
}

// wait polls until one of the status bits is set, and returns whether it is.
func wait(bits uint8) bool {
	polls := maxPolls
	if stalled {
		polls = stalledPolls
	}
	for ; polls > 0; polls-- {
		if amd64.In8(com1+regStatus)&bits != 0 {
			stalled = false
			return true
		}
		amd64.Pause()
	}
	stalled = true
	return false
}

// String sends s; a line feed goes out as carriage return and line feed.
func String(s string) {
	for i := 0; i < len(s); i++ {
		char(s[i])
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
func Dec(v uint64) { number(v, 10, 0) }

// DecPad sends v in decimal, right-aligned in a field of width characters.
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
	if midway {
		String("\n")
	}
}

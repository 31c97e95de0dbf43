package pc

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// The 16550 UART's registers, as offsets from its base port (National
// Semiconductor PC16550D data sheet, table II).
const (
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
	fifoWorks    = 0xc0 // read there (interrupt identification): a 16550A, not a 16450 or 16550
	divisor      = 1    // 115200 baud of a 1.8432 MHz clock; as input.DefaultBaud on the host
	ierReceive   = 0x01 // interrupt for received data
	fifoTrigger  = 0xc1 // FIFO on, interrupt at triggerLevel bytes or when no more come
	identify     = 0x0f // read at regFIFO: why the port interrupts
	identifyData = 0x04 // the FIFO has triggerLevel bytes or more
	modemOUT2    = 0x08 // lets the interrupt out, on a PC
	statusData   = 0x01 // a byte is there
	scratchProbe = 0x5a
)

// How often the status is polled before a byte is dropped: a panic must not hang on a dead port,
// but an emulator's port stands still for as long as its host is busy. The first number is some 20
// seconds at the speed of an ISA port; the second, for a port that has stood still once, is a
// millisecond.
const (
	maxPolls     = 20_000_000
	stalledPolls = 1_000
)

// The serial ports.
const (
	UARTConsole UARTBase = 0x3f8 // COM1
	UARTSecond  UARTBase = 0x2f8 // COM2
)

// UARTBase identifies a serial port by its first I/O port.
type UARTBase uint16

// triggerLevel is the number of bytes in the FIFO at which the port interrupts. Two more fit: 170
// µs at 115200 baud.
const triggerLevel = 14

// UARTRoom is the largest number of bytes that a UART takes at a time.
const UARTRoom = 16

// A UART is a serial port. Its methods are polled, take no lock and allocate nothing;
// any context.
type UART struct {
	Base    UARTBase
	room    int  // bytes that it accepts when it is empty
	absent  bool // nothing answers
	stalled bool // the last byte was dropped
	flowing bool // the FIFO was at its trigger level when Receive last found bytes in it

	received [triggerLevel]byte // taken out of the FIFO together
	next     int                // of them, for Receive
	end      int
}

// Init finds the port and sets it up: 115200 baud, 8 data bits, no parity, FIFO on, interrupts off.
// If nothing answers, all output is dropped.
func (u *UART) Init() {
	u.out(regScratch, scratchProbe)
	if u.in(regScratch) != scratchProbe {
		u.absent = true
		return
	}
	u.Flush() // the last words of its previous user
	u.out(regIER, 0)
	u.out(regLine, lineDLAB|line8N1)
	u.out(regData, divisor)
	u.out(regIER, 0)
	u.out(regLine, line8N1)
	u.out(regFIFO, fifoOnClear)
	u.room = 1
	if u.in(regFIFO)&fifoWorks == fifoWorks {
		u.room = UARTRoom
	}
	u.out(regModem, modemReady)
}

func (u *UART) port(reg uint16) uint16  { return uint16(u.Base) + reg }
func (u *UART) out(reg uint16, v uint8) { amd64.Out8(u.port(reg), v) }
func (u *UART) in(reg uint16) uint8     { return amd64.In8(u.port(reg)) }

// SetSpeed sets the speed in bits a second, and reports whether the port supports it: 115200, or a
// divisor of that. Without a UART it does nothing.
func (u *UART) SetSpeed(baud uint32) bool {
	const fastest = 115200
	if baud == 0 || fastest%baud != 0 || fastest/baud > 0xffff {
		return false
	}
	if !u.absent {
		u.Flush()
		d := fastest / baud
		u.out(regLine, lineDLAB|line8N1)
		u.out(regData, uint8(d))
		u.out(regIER, uint8(d>>8))
		u.out(regLine, line8N1)
	}
	return true
}

// Keep stores a second copy of the port's state.
func (u *UART) Keep() { amd64.Keep(unsafe.Pointer(u), unsafe.Offsetof(u.stalled)) }

// Present reports whether Init found the port.
func (u *UART) Present() bool { return !u.absent }

// Send sends one byte unchanged and returns once the UART has taken it.
func (u *UART) Send(b byte) {
	if !u.absent && u.wait(statusTHRE) {
		u.out(regData, b)
	}
}

// SendAll sends bytes unchanged, as many at a time as the UART takes: an empty FIFO gets as many as
// fit, by one string instruction, which is one exit in a virtual machine; otherwise it gets one. It
// returns once the UART has taken the last. A port that stands still loses them.
func (u *UART) SendAll(p []byte) {
	for len(p) > 0 && !u.absent {
		n := min(max(u.room, 1), len(p))
		if u.wait(statusTHRE) {
			amd64.OutAll(u.port(regData), p[:n])
		}
		p = p[n:]
	}
}

// Flush waits until the last byte has left the UART.
func (u *UART) Flush() {
	if !u.absent {
		u.wait(statusTEMT)
	}
}

// wait polls until one of the status bits is set, and reports whether it is.
func (u *UART) wait(bits uint8) bool {
	polls := maxPolls
	if u.stalled {
		polls = stalledPolls
	}
	for ; polls > 0; polls-- {
		if u.in(regStatus)&bits != 0 {
			u.stalled = false
			return true
		}
		amd64.Pause()
	}
	u.stalled = true
	return false
}

// EnableInput makes the port interrupt when there is something to Receive: at 14 bytes, or as soon
// as the line has been idle for the time of four. The interrupt is edge-triggered and comes again
// only after Receive has found nothing more. Without a UART it does nothing.
func (u *UART) EnableInput() {
	if u.absent {
		return
	}
	u.out(regFIFO, fifoTrigger)
	u.out(regModem, modemReady|modemOUT2)
	u.out(regIER, ierReceive)
}

// Receive takes one byte out of the UART; ok is false if there is none. It does not wait.
//
// The UART holds 16 bytes. When they are full, an emulator sends no more, so a caller without room
// for a byte leaves it there, and nothing is lost. A real line goes on, and the UART counts that as
// an overrun.
//
// A FIFO that interrupts because it is at its trigger level is read at once: that saves the status
// check before each byte, and an emulator refills it once for all of them.
func (u *UART) Receive() (b byte, ok bool) {
	if u.absent {
		return 0, false
	}
	if u.next >= u.end {
		switch {
		case u.room > 1 && u.in(regFIFO)&identify == identifyData:
			amd64.InAll(u.port(regData), u.received[:])
			u.end, u.flowing = len(u.received), true
		case u.in(regStatus)&statusData != 0:
			u.received[0], u.end = u.in(regData), 1
		default:
			return 0, false
		}
		u.next = 0
	}
	b = u.received[uint(u.next)%triggerLevel]
	u.next++
	return b, true
}

// Flowing reports whether bytes arrive faster than they are received, as far as the FIFO tells, and
// resets that.
func (u *UART) Flowing() bool {
	was := u.flowing
	u.flowing = false
	return was
}

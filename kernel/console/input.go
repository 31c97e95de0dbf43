package console

import "github.com/zeroframe/zeroframe/arch/amd64"

// Input of the serial port. The UART keeps 16 bytes and stops taking more from an
// emulator when they are full, so whoever has no room for a byte leaves it there:
// nothing is lost then. A real line goes on, and the UART counts that as an
// overrun.

// Vector is the vector of the port's interrupt, which is ISA interrupt IRQ.
// Through the 8259s it is PICVector.
const (
	IRQ       = 4
	Vector    = 0x44
	PICVector = amd64.VectorIRQ + IRQ
)

const (
	ierReceive   = 0x01 // interrupt for received data
	fifoTrigger8 = 0x81 // FIFO on, interrupt at 8 bytes or when no more come
	modemOUT2    = 0x08 // lets the interrupt out, on a PC
	statusData   = 0x01 // a byte is there
)

// EnableInput makes the port interrupt when there is something to Receive: at 8
// bytes, or as soon as the line has been idle for the time of four. The interrupt
// is edge-triggered and comes again only after Receive has found nothing more.
// Without a UART it does nothing.
func EnableInput() {
	if com1.absent {
		return
	}
	amd64.Out8(com1.Base+regFIFO, fifoTrigger8)
	amd64.Out8(com1.Base+regModem, modemReady|modemOUT2)
	amd64.Out8(com1.Base+regIER, ierReceive)
}

// Receive takes one byte out of the UART; ok is false if it has none. It does not
// wait. Early and kernel context.
func Receive() (b byte, ok bool) {
	if com1.absent {
		return 0, false
	}
	if amd64.In8(com1.Base+regStatus)&statusData == 0 {
		return 0, false
	}
	return amd64.In8(com1.Base + regData), true
}

package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The I/O APIC (Intel 82093AA data sheet) and the two 8259s that it replaced: the ways in which an
// ISA device's interrupt reaches the CPU. Early and kernel context.

// Interrupts of the board, by their numbers in a trap frame: ISA interrupt n is interruptISA+n,
// whichever way it comes.
const (
	interruptISA = 0x40

	InterruptTimer   = interruptISA + irqTimer
	InterruptConsole = interruptISA + irqConsole
	InterruptPort    = interruptISA + 3 // a message, likewise
	InterruptNetwork = interruptISA + 5 // a message; nothing is sent for the ISA's
	InterruptShare   = interruptISA + 6 // likewise
	InterruptWake    = interruptISA + 7 // sent by another CPU
	InterruptFlush   = interruptISA + 9 // likewise
)

const (
	irqTimer   = 0
	irqConsole = 4
)

// byPIC has a bit for each ISA interrupt that comes through the 8259s. Set once at boot.
var byPIC uint16

// LineRegisters is the physical address of the registers of the controller for devices' interrupt
// wires (the I/O APIC); the page must be mapped uncached.
const LineRegisters = 0xfec00000

// ConnectConsole makes the console's UART interrupt with InterruptConsole. mapped says that
// LineRegisters is mapped.
func ConnectConsole(mapped bool) {
	if !mapped || apic == 0 || !routeISA(amd64.Virtual(LineRegisters), irqConsole) {
		if apic != 0 {
			passPIC()
		}
		unmaskPIC(irqConsole)
	}
}

// The I/O APIC's two registers, and the registers that they give access to.
const (
	ioapicSelect = 0x00
	ioapicWindow = 0x10

	ioapicVersion  = 0x01
	ioapicRedirect = 0x10 // two for each input
)

func readIOAPIC(base uintptr, reg uint32) uint32 {
	amd64.Store32(base+ioapicSelect, reg)
	return amd64.Load32(base + ioapicWindow)
}

func writeIOAPIC(base uintptr, reg, v uint32) {
	amd64.Store32(base+ioapicSelect, reg)
	amd64.Store32(base+ioapicWindow, v)
}

// routeISA makes the I/O APIC at base send this CPU an interrupt when the ISA
// interrupt irq (1 to 15) is raised: edge-triggered, active high. It returns false if
// there is no I/O APIC at base or it has no such input.
func routeISA(base uintptr, irq uint8) bool {
	return route(base, uint32(irq), uint32(interruptISA+irq))
}

// routeNMI makes each rise of the input an NMI.
func routeNMI(base uintptr, input uint32) bool {
	const deliverNMI = 4 << 8
	return route(base, input, deliverNMI)
}

// route makes the I/O APIC at base send this CPU what the lower half of a redirection entry says:
// edge-triggered, active high, physical destination and not masked are all 0. It returns false if
// there is no I/O APIC at base or it has no such input.
func route(base uintptr, input, entry uint32) bool {
	// 0x11 is the 82093AA, 0x20 the newest; a bus without a device reads all
	// ones or zeros.
	v := readIOAPIC(base, ioapicVersion)
	version, last := v&0xff, v>>16&0xff
	if version < 0x10 || version > 0x2f || input > last {
		return false
	}
	_, ebx, _, _ := amd64.CPUID(1, 0)
	id := ebx >> 24
	reg := ioapicRedirect + 2*input
	writeIOAPIC(base, reg+1, id<<24)
	writeIOAPIC(base, reg, entry)
	const status = 1<<12 | 1<<14 // delivery status, remote IRR
	return readIOAPIC(base, reg)&0x1ffff&^status == entry
}

// Ports of the 8259s: command, and data one above.
const (
	picMaster = 0x20
	picSlave  = 0xa0
)

// MaskInterrupts moves the two 8259s' vectors away from the exceptions and masks all their inputs
// (Intel 8259A data sheet, ICW1-4).
func MaskInterrupts() {
	amd64.Out8(picMaster, 0x11)
	amd64.Out8(picSlave, 0x11)
	amd64.Out8(picMaster+1, interruptISA)
	amd64.Out8(picSlave+1, interruptISA+8)
	amd64.Out8(picMaster+1, 4)
	amd64.Out8(picSlave+1, 2)
	amd64.Out8(picMaster+1, 1)
	amd64.Out8(picSlave+1, 1)
	amd64.Out8(picMaster+1, 0xff)
	amd64.Out8(picSlave+1, 0xff)
}

// unmaskPIC lets an ISA interrupt (0 to 7) through the master. If the CPU has a local APIC,
// passPIC must have been called.
func unmaskPIC(irq uint8) {
	byPIC |= 1 << irq
	amd64.Out8(picMaster+1, amd64.In8(picMaster+1)&^(1<<irq))
}

// ackPIC tells the master that the handler of an ISA interrupt (0 to 7) is done.
func ackPIC(irq uint8) {
	const specificEOI = 0x60
	amd64.Out8(picMaster, specificEOI|irq)
}

// passPIC makes the local APIC pass the 8259s' interrupts ("virtual wire mode"), for a machine
// without an I/O APIC.
func passPIC() {
	const deliverExtINT = 7 << 8
	writeAPIC(apicLINT0, deliverExtINT)
}

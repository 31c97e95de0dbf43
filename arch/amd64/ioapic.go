package amd64

// The I/O APIC (Intel 82093AA data sheet) and the two 8259s that it replaced: the
// ways by which an ISA device's interrupt reaches the CPU. Early and kernel
// context.

// IOAPICBase is where the first I/O APIC's registers are on every PC; the page is
// to be mapped, uncached.
const IOAPICBase = 0xfec00000

// The I/O APIC's two registers, and what is seen through them.
const (
	ioapicSelect = 0x00
	ioapicWindow = 0x10

	ioapicVersion  = 0x01
	ioapicRedirect = 0x10 // two for each input
)

func readIOAPIC(base uintptr, reg uint32) uint32 {
	Store32(base+ioapicSelect, reg)
	return Load32(base + ioapicWindow)
}

func writeIOAPIC(base uintptr, reg, v uint32) {
	Store32(base+ioapicSelect, reg)
	Store32(base+ioapicWindow, v)
}

// RouteISA makes the I/O APIC at base send this CPU the given vector when an ISA
// interrupt (0 to 15) is raised: edge-triggered, active high. It returns false if
// there is no I/O APIC at base or it has no such input. Interrupt 0 is the PIT's,
// which is wired to input 2.
func RouteISA(base uintptr, irq, vector uint8) bool {
	input := uint32(irq)
	if irq == 0 {
		input = 2
	}
	// 0x11 is the 82093AA, 0x20 the newest; a bus without a device reads all
	// ones or zeros.
	v := readIOAPIC(base, ioapicVersion)
	version, last := v&0xff, v>>16&0xff
	if version < 0x10 || version > 0x2f || irq > 15 || input > last {
		return false
	}
	_, ebx, _, _ := CPUID(1, 0)
	id := ebx >> 24
	reg := ioapicRedirect + 2*input
	writeIOAPIC(base, reg+1, id<<24)
	// Fixed delivery, physical destination, active high, edge, not masked: all 0.
	writeIOAPIC(base, reg, uint32(vector))
	return readIOAPIC(base, reg)&0x1ffff == uint32(vector)
}

// Ports of the 8259s: command, and data one above.
const (
	picMaster = 0x20
	picSlave  = 0xa0
)

// UnmaskPIC lets an ISA interrupt (0 to 15) through the 8259s; it comes as vector
// VectorIRQ+irq, where MaskPIC has put it. If the CPU has a local APIC,
// PassPIC must have been called.
func UnmaskPIC(irq uint8) {
	if irq >= 8 {
		Out8(picSlave+1, In8(picSlave+1)&^(1<<(irq&7)))
		irq = 2 // the slave's
	}
	Out8(picMaster+1, In8(picMaster+1)&^(1<<irq))
}

// AckPIC tells the 8259s that the handler of an ISA interrupt is done.
func AckPIC(irq uint8) {
	const specificEOI = 0x60
	if irq >= 8 {
		Out8(picSlave, specificEOI|irq&7)
		irq = 2
	}
	Out8(picMaster, specificEOI|irq)
}

// PassPIC makes the local APIC at base let the 8259s' interrupts through ("virtual
// wire mode"), for a machine that has no I/O APIC.
func PassPIC(base uintptr) {
	const apicLINT0, deliverExtINT = 0x350, 7 << 8
	Store32(base+apicLINT0, deliverExtINT)
}

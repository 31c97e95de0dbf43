package amd64

// The local APIC (SDM Vol. 3A, chapter 10): part of the CPU, so it is the one
// interrupt source that needs no chip set. Registers are 32 bits wide, 16 bytes
// apart, in an uncached page.

// Offsets of registers in the APIC's page, in bytes.
const (
	apicTPR      = 0x080
	apicEOI      = 0x0b0
	apicSpurious = 0x0f0
	apicICRLow   = 0x300
	apicICRHigh  = 0x310
	apicLINT1    = 0x360
)

// VectorSpurious is the vector of interrupts that were withdrawn; they get no EOI.
const VectorSpurious = 0xff

// Load32 reads a device register; the access is neither dropped, nor doubled, nor moved.
func Load32(addr uintptr) uint32

// Store32 writes a device register.
func Store32(addr uintptr, v uint32)

// APICBase returns the physical address of the local APIC's page; ok is false if
// the CPU has none.
func APICBase() (base uintptr, ok bool) {
	const hasAPIC = 1 << 9 // CPUID.1:EDX
	if _, _, _, edx := CPUID(1, 0); edx&hasAPIC == 0 {
		return 0, false
	}
	base = uintptr(ReadMSR(MSRAPICBase)) & 0x000f_ffff_ffff_f000
	return base, base != 0
}

// EnableAPIC turns the local APIC at base on, and its input LINT1 into the NMI
// that it is on every PC (firmware does the same, but not microvm's). The page
// is mapped, uncached.
func EnableAPIC(base uintptr) {
	const globalEnable, x2APIC, softwareEnable, deliverNMI = 1 << 11, 1 << 10, 1 << 8, 4 << 8
	v := ReadMSR(MSRAPICBase)
	if v&x2APIC != 0 {
		// Firmware has left it in x2APIC mode, where the page is dead. The way
		// back is through "disabled" (SDM Vol. 3A, 10.12.5).
		WriteMSR(MSRAPICBase, v&^(x2APIC|globalEnable))
	}
	WriteMSR(MSRAPICBase, v&^x2APIC|globalEnable)
	Store32(base+apicTPR, 0)
	Store32(base+apicSpurious, softwareEnable|VectorSpurious)
	Store32(base+apicLINT1, deliverNMI)
}

// InterruptSelf sends the CPU an interrupt of the given vector.
func InterruptSelf(base uintptr, vector uint8) {
	const shorthandSelf, levelAssert = 1 << 18, 1 << 14
	Store32(base+apicICRHigh, 0)
	Store32(base+apicICRLow, shorthandSelf|levelAssert|uint32(vector))
}

// EndOfInterrupt tells the APIC that the handler of an interrupt is done.
func EndOfInterrupt(base uintptr) { Store32(base+apicEOI, 0) }

// MaskPIC moves the two 8259 interrupt controllers' vectors out of the way of
// the exceptions and masks all their inputs (Intel 8259A data sheet, ICW1-4).
func MaskPIC() {
	const master, slave = 0x20, 0xa0
	Out8(master, 0x11)
	Out8(slave, 0x11)
	Out8(master+1, VectorIRQ)
	Out8(slave+1, VectorIRQ+8)
	Out8(master+1, 4)
	Out8(slave+1, 2)
	Out8(master+1, 1)
	Out8(slave+1, 1)
	Out8(master+1, 0xff)
	Out8(slave+1, 0xff)
}

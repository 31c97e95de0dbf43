package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The local APIC (SDM Vol. 3A, chapter 10): the one interrupt source that needs no chip
// set. Registers are 32 bits wide, 16 bytes apart, in an uncached page.

// Offsets of registers in the APIC's page, in bytes.
const (
	apicID       = 0x020
	apicTPR      = 0x080
	apicEOI      = 0x0b0
	apicSpurious = 0x0f0
	apicICRLow   = 0x300
	apicICRHigh  = 0x310
	apicLVTTimer = 0x320
	apicLINT0    = 0x350
	apicLINT1    = 0x360
	apicInitial  = 0x380
	apicCurrent  = 0x390
	apicDivide   = 0x3e0
)

// vectorSpurious is the vector of interrupts that were withdrawn; they get no EOI.
const vectorSpurious = 0xff

// apic is the address of the local APIC's registers, 0 as long as they cannot be used. Set
// once at boot.
var apic uintptr

// InterruptRegisters returns the physical address of the page of the local interrupt
// controller's registers; ok is false if there is none. Early context.
func InterruptRegisters() (base uintptr, ok bool) {
	const hasAPIC = 1 << 9 // CPUID.1:EDX
	if _, _, _, edx := amd64.CPUID(1, 0); edx&hasAPIC == 0 {
		return 0, false
	}
	base = uintptr(amd64.ReadMSR(amd64.MSRAPICBase)) & 0x000f_ffff_ffff_f000
	return base, base != 0
}

// StartInterrupts turns the local interrupt controller on, and its input LINT1 into the NMI
// that it is on every PC (firmware does the same, but not microvm's). base is
// InterruptRegisters', mapped, uncached. Early context.
func StartInterrupts(base uintptr) {
	apic = base
	JoinInterrupts()
	amd64.Store32(base+apicLINT1, deliverNMI)
}

// JoinInterrupts turns on the local interrupt controller of a CPU that has been started. The
// board's NMI is the first CPU's alone. Early context.
func JoinInterrupts() {
	const globalEnable, x2APIC, softwareEnable = 1 << 11, 1 << 10, 1 << 8
	v := amd64.ReadMSR(amd64.MSRAPICBase)
	if v&x2APIC != 0 {
		// Firmware has left it in x2APIC mode, where the page is dead. The way
		// back is through "disabled" (SDM Vol. 3A, 10.12.5).
		amd64.WriteMSR(amd64.MSRAPICBase, v&^(x2APIC|globalEnable))
	}
	amd64.WriteMSR(amd64.MSRAPICBase, v&^x2APIC|globalEnable)
	amd64.Store32(apic+apicTPR, 0)
	amd64.Store32(apic+apicSpurious, softwareEnable|vectorSpurious)
}

// LocalInterrupts reports whether StartInterrupts has been called: whether the CPU can
// interrupt itself and devices can send it messages. Any context.
func LocalInterrupts() bool { return apic != 0 }

// Fields of the interrupt command register (SDM Vol. 3A, 10.6.1).
const (
	deliverNMI     = 4 << 8
	deliverINIT    = 5 << 8
	deliverStartup = 6 << 8
	icrPending     = 1 << 12
	levelAssert    = 1 << 14
	shorthandSelf  = 1 << 18
)

// InterruptSelf sends the CPU an interrupt of the given number. LocalInterrupts.
func InterruptSelf(number uint8) {
	amd64.Store32(apic+apicICRHigh, 0)
	amd64.Store32(apic+apicICRLow, shorthandSelf|levelAssert|uint32(number))
}

// command has the local APIC send something to the CPU with that ID, once what it has sent before
// is gone; it waits no longer than that takes.
func command(id, what uint32) {
	for tries := 0; tries < 10000 && amd64.Load32(apic+apicICRLow)&icrPending != 0; tries++ {
		amd64.Pause()
	}
	amd64.Store32(apic+apicICRHigh, id<<24)
	amd64.Store32(apic+apicICRLow, what)
}

// ThisID returns the ID of the running CPU's local APIC. LocalInterrupts.
func ThisID() uint32 { return amd64.Load32(apic+apicID) >> 24 }

// InitCPU resets the CPU with that ID: it waits for StartCPU, 10 ms later (SDM Vol. 3A, 8.4.4.1).
// The first CPU would start its firmware instead. LocalInterrupts.
func InitCPU(id uint32) { command(id, deliverINIT|levelAssert) }

// StartCPU starts that CPU in 16-bit mode, at the beginning of a page below 1 MiB. One that runs
// does not care. LocalInterrupts.
func StartCPU(id uint32, page uintptr) { command(id, deliverStartup|levelAssert|uint32(page>>12)) }

// InterruptCPU sends the CPU with that ID an interrupt of the given number. LocalInterrupts.
func InterruptCPU(id uint32, number uint8) { command(id, levelAssert|uint32(number)) }

// StopCPU sends the CPU with that ID an NMI. LocalInterrupts.
func StopCPU(id uint32) { command(id, deliverNMI|levelAssert) }

// EndOfInterrupt tells the interrupt controllers that the handler of an interrupt of this
// number is done. Kernel context.
func EndOfInterrupt(number uint8) {
	if number == vectorSpurious {
		return
	}
	if irq := number - interruptISA; irq < 16 && byPIC>>irq&1 != 0 {
		ackPIC(irq)
	}
	if apic != 0 {
		amd64.Store32(apic+apicEOI, 0)
	}
}

// InterruptMessage returns what a device writes, and where, to interrupt this CPU: the local
// APIC behind the address takes the data for a vector (SDM Vol. 3A, 10.11). LocalInterrupts.
func InterruptMessage(number uint8) (address, data uint32) {
	const messages = 0xfee00000 // destination in bits 12 to 19; edge-triggered, fixed: all 0
	_, ebx, _, _ := amd64.CPUID(1, 0)
	return messages | ebx>>24<<12, uint32(number)
}

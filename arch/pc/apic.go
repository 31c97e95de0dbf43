package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The local APIC (SDM Vol. 3A, chapter 10): the one interrupt source that needs no chip set.
// Registers are 32 bits wide. In xAPIC mode they are 16 bytes apart, in an uncached page; in x2APIC
// mode (10.12) they are model-specific registers, and CPUs have IDs of 32 bits.
//
// The mode stays as firmware left it: firmware has its reasons, and some CPUs cannot go back
// (IA32_XAPIC_DISABLE_STATUS). A CPU above ID 254 is a reason to change to x2APIC mode.

// Offsets of registers in the APIC's page, in bytes.
const (
	apicID       = 0x020
	apicTPR      = 0x080
	apicEOI      = 0x0b0
	apicSpurious = 0x0f0
	apicRequest  = 0x200 // of 8, one for 32 vectors each
	apicICRLow   = 0x300
	apicICRHigh  = 0x310
	apicLVTTimer = 0x320
	apicLINT0    = 0x350
	apicLINT1    = 0x360
	apicInitial  = 0x380
	apicCurrent  = 0x390
	apicDivide   = 0x3e0
	apicSelf     = 0x3f0 // in x2APIC mode only
)

// msrX2APIC is the first model-specific register of x2APIC mode (10.12.1.2).
const msrX2APIC = 0x800

// Bits of the register of the APIC's base (10.4.4, 10.12.1), and of the spurious vector's.
const (
	x2Enable       = 1 << 10
	globalEnable   = 1 << 11
	softwareEnable = 1 << 8
)

// vectorSpurious is the vector of withdrawn interrupts; they get no EOI.
const vectorSpurious = 0xff

// apic is the address of the local APIC's registers, 0 as long as they cannot be used. Set
// once at boot.
var apic uintptr

// x2APIC is set in x2APIC mode, which all CPUs share. wantX2APIC is set if there is a CPU that
// xAPIC mode cannot address. Set once at boot.
var x2APIC, wantX2APIC bool

// readAPIC reads the register at that offset.
func readAPIC(reg uintptr) uint32 {
	if x2APIC {
		return uint32(readMSR(msrX2APIC + uint32(reg>>4)))
	}
	return amd64.Load32(apic + reg)
}

// writeAPIC writes the register at that offset.
func writeAPIC(reg uintptr, v uint32) {
	if x2APIC {
		writeMSR(msrX2APIC+uint32(reg>>4), uint64(v))
		return
	}
	amd64.Store32(apic+reg, v)
}

// hasX2APIC reports whether the CPU has x2APIC mode.
func hasX2APIC() bool {
	const has = 1 << 21 // CPUID.1:ECX
	_, _, ecx, _ := amd64.CPUID(1, 0)
	return ecx&has != 0
}

// InterruptRegisters returns the physical address of the page of the local interrupt
// controller's registers; ok is false if there is none. Early context.
func InterruptRegisters() (base uintptr, ok bool) {
	const hasAPIC = 1 << 9 // CPUID.1:EDX
	if _, _, _, edx := amd64.CPUID(1, 0); edx&hasAPIC == 0 {
		return 0, false
	}
	base = uintptr(readMSR(amd64.MSRAPICBase)) & 0x000f_ffff_ffff_f000
	return base, base != 0
}

// StartInterrupts turns the local interrupt controller on, and makes its input LINT1 an NMI, as on
// every PC (firmware does the same, except microvm's). base is the page from InterruptRegisters,
// mapped uncached. Early context.
func StartInterrupts(base uintptr) {
	apic = base
	x2APIC = wantX2APIC || readMSR(amd64.MSRAPICBase)&(x2Enable|globalEnable) == x2Enable|globalEnable
	JoinInterrupts()
	writeAPIC(apicLINT1, deliverNMI)
}

// JoinInterrupts turns on the local interrupt controller of a CPU that was started. Only the first
// CPU gets the board's NMI. Early context.
func JoinInterrupts() {
	v := readMSR(amd64.MSRAPICBase)
	switch was := v&x2Enable != 0; {
	case was && !x2APIC:
		// The way back is through "disabled" (SDM Vol. 3A, 10.12.5).
		writeMSR(amd64.MSRAPICBase, v&^(x2Enable|globalEnable))
		writeMSR(amd64.MSRAPICBase, v&^x2Enable|globalEnable)
	case !was:
		// The way into x2APIC mode is through xAPIC mode, too.
		writeMSR(amd64.MSRAPICBase, v|globalEnable)
		if x2APIC {
			writeMSR(amd64.MSRAPICBase, v|globalEnable|x2Enable)
		}
	}
	writeAPIC(apicTPR, 0)
	writeAPIC(apicSpurious, softwareEnable|vectorSpurious)
}

// LocalInterrupts reports whether StartInterrupts has been called: whether the CPU can
// interrupt itself and devices can send it messages. Any context.
func LocalInterrupts() bool { return apic != 0 }

// Fields of the interrupt command register (SDM Vol. 3A, 10.6.1; 10.12.9).
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
	if x2APIC {
		writeAPIC(apicSelf, uint32(number))
		return
	}
	amd64.Store32(apic+apicICRHigh, 0)
	amd64.Store32(apic+apicICRLow, shorthandSelf|levelAssert|uint32(number))
}

// command makes the local APIC send something to the CPU with that ID, once its previous message is
// gone; it waits no longer than that takes. In x2APIC mode there is nothing to wait for, but the
// write might overtake stores that the other CPU must see (10.12.3).
func command(id, what uint32) {
	if x2APIC {
		amd64.Fence()
		writeMSR(msrX2APIC+apicICRLow>>4, uint64(id)<<32|uint64(what))
		return
	}
	for tries := 0; tries < 10000 && amd64.Load32(apic+apicICRLow)&icrPending != 0; tries++ {
		amd64.Pause()
	}
	amd64.Store32(apic+apicICRHigh, id<<24)
	amd64.Store32(apic+apicICRLow, what)
}

// ThisID returns the ID of the running CPU's local APIC. LocalInterrupts.
func ThisID() uint32 {
	if x2APIC {
		return readAPIC(apicID)
	}
	return readAPIC(apicID) >> 24
}

// InitCPU resets the CPU with that ID: it waits for StartCPU, ResetTime later. The first CPU would
// start its firmware instead. LocalInterrupts.
func InitCPU(id uint32) { command(id, deliverINIT|levelAssert) }

// ResetTime returns how many nanoseconds there must be between InitCPU and StartCPU: 10 ms (SDM
// Vol. 3A, 8.4.4.1), which QEMU and KVM do not need: they keep a start until the reset is over.
func ResetTime() uint64 {
	if h, _ := amd64.FindHypervisor(); h == amd64.HypervisorQEMU || h == amd64.HypervisorKVM {
		return 0
	}
	return 10e6
}

// StartCPU starts that CPU in 16-bit mode, at the start of a page below 1 MiB. A running CPU
// ignores it. LocalInterrupts.
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
		writeAPIC(apicEOI, 0)
	}
}

// InterruptMessage returns what a device writes, and where, to interrupt this CPU: the local APIC
// at the address takes the data as a vector (SDM Vol. 3A, 10.11). The address has room for IDs up
// to 255, in either mode. LocalInterrupts.
func InterruptMessage(number uint8) (address, data uint32) {
	_, ebx, _, _ := amd64.CPUID(1, 0)
	return MessageAddress(ebx >> 24), uint32(number)
}

// MessageAddress returns where a device writes an InterruptMessage for the CPU of that ID, 255 at
// most.
func MessageAddress(id uint32) uint32 {
	const messages = 0xfee00000 // destination in bits 12 to 19; edge-triggered, fixed: all 0
	return messages | id<<12
}

package amd64

// What a PC has to tell the time with: the local APIC's timer (SDM Vol. 3A,
// 10.5.4), the i8254 interval timer ("PIT", Intel 8254 data sheet), and the
// frequencies that CPUID reports. Only the accesses are here; what they are
// worth is for the kernel to judge. Early and kernel context.

// Offsets of the timer's registers in the APIC's page, in bytes.
const (
	apicLVTTimer = 0x320
	apicInitial  = 0x380
	apicCurrent  = 0x390
	apicDivide   = 0x3e0
)

// Bits of the timer's entry in the local vector table.
const (
	lvtMasked      = 1 << 16
	lvtTSCDeadline = 2 << 17
)

// MSRTSCDeadline holds the time stamp at which the APIC's timer interrupts in
// TSC-deadline mode; 0 is never.
const MSRTSCDeadline = 0x6e0

// HasTSCDeadline reports whether the APIC's timer can be set to a time stamp.
func HasTSCDeadline() bool {
	const bit = 1 << 24 // CPUID.1:ECX
	_, _, ecx, _ := CPUID(1, 0)
	return ecx&bit != 0
}

// APICOneShot makes the timer of the APIC at base one that counts down at the
// APIC's own frequency and interrupts with the given vector at 0; vector 0 makes
// it count without an interrupt. The timer stands still until StartAPICTimer.
func APICOneShot(base uintptr, vector uint8) {
	const by1 = 0xb // divide configuration: no division
	Store32(base+apicInitial, 0)
	Store32(base+apicDivide, by1)
	if vector == 0 {
		Store32(base+apicLVTTimer, lvtMasked)
		return
	}
	Store32(base+apicLVTTimer, uint32(vector))
}

// APICDeadline makes it one that interrupts when the time stamp counter reaches
// MSRTSCDeadline.
func APICDeadline(base uintptr, vector uint8) {
	Store32(base+apicLVTTimer, lvtTSCDeadline|uint32(vector))
	// The store must be done before the MSR is written (SDM Vol. 3A, 10.5.4.1);
	// CPUID waits for it.
	CPUID(0, 0)
	WriteMSR(MSRTSCDeadline, 0)
}

// StartAPICTimer starts a one-shot timer of count ticks; 0 stops it.
func StartAPICTimer(base uintptr, count uint32) { Store32(base+apicInitial, count) }

// APICTimer returns the ticks that are left.
func APICTimer(base uintptr) uint32 { return Load32(base + apicCurrent) }

// The PIT's ports and command bytes.
const (
	pitData    = 0x40
	pitCommand = 0x43

	pitLatch    = 0x00 // channel 0: hold the count for reading
	pitOneShot  = 0x30 // channel 0, low byte then high byte, mode 0
	pitRate     = 0x34 // channel 0, low byte then high byte, mode 2
	pitReadBack = 0xe2 // channel 0: status
)

// PITHz is the frequency of the PIT's clock: a third of NTSC's colour carrier.
const PITHz = 1_193_182

// PITRound makes channel 0 of the PIT count 65536 ticks down, again and again.
// It returns false if what is there is no PIT.
func PITRound() bool {
	Out8(pitCommand, pitRate)
	Out8(pitData, 0)
	Out8(pitData, 0)
	const output, noCount = 1 << 7, 1 << 6
	Out8(pitCommand, pitReadBack)
	return In8(pitData)&^(output|noCount) == pitRate
}

// PITCount returns what channel 0 has still to count; 0 stands for 65536.
func PITCount() uint16 {
	Out8(pitCommand, pitLatch)
	lo := In8(pitData)
	return uint16(lo) | uint16(In8(pitData))<<8
}

// PITShot makes channel 0 raise ISA interrupt 0 once, after count+1 ticks.
func PITShot(count uint16) {
	Out8(pitCommand, pitOneShot)
	Out8(pitData, uint8(count))
	Out8(pitData, uint8(count>>8))
}

// PITStop makes channel 0 stand still. A shot that is under way may come all the
// same: emulators do not all take it back.
func PITStop() { Out8(pitCommand, pitOneShot) }

// Hypervisor is what kind of machine the CPU says it runs in.
type Hypervisor uint8

const (
	HypervisorNone  Hypervisor = iota // real hardware, or none that says so
	HypervisorQEMU                    // QEMU's own emulation of the CPU (TCG)
	HypervisorKVM                     // KVM, under QEMU or another
	HypervisorOther                   // VMware, Xen, Hyper-V and so on
)

// FindHypervisor reads the signature in CPUID leaf 0x40000000, which hypervisors
// have agreed upon; max is the highest of their leaves, 0 without a hypervisor.
func FindHypervisor() (h Hypervisor, max uint32) {
	const present = 1 << 31 // CPUID.1:ECX
	if _, _, ecx, _ := CPUID(1, 0); ecx&present == 0 {
		return HypervisorNone, 0
	}
	max, ebx, ecx, edx := CPUID(0x40000000, 0)
	switch {
	case ebx == 0x54474354 && ecx == 0x43544743 && edx == 0x47435447: // "TCGTCGTCGTCG"
		return HypervisorQEMU, max
	case ebx == 0x4b4d564b && ecx == 0x564b4d56 && edx == 0x4d: // "KVMKVMKVM"
		return HypervisorKVM, max
	}
	return HypervisorOther, max
}

// ReportedTSC returns the frequency of the time stamp counter, in Hz, that CPUID
// leaf 0x15 (SDM Vol. 2A) reports, 0 if it does not.
func ReportedTSC() uint64 {
	if max, _, _, _ := CPUID(0, 0); max < 0x15 {
		return 0
	}
	den, num, crystal, _ := CPUID(0x15, 0)
	if den == 0 || num == 0 || crystal == 0 {
		return 0
	}
	if num > 1<<31 {
		return 0 // no such ratio, and the product must fit in 64 bits
	}
	return uint64(crystal) * uint64(num) / uint64(den)
}

// HypervisorTSC returns the frequency, in Hz, that a hypervisor reports in leaf
// 0x40000010 (VMware's; QEMU has it under KVM), 0 if it does not. max is
// FindHypervisor's.
func HypervisorTSC(max uint32) uint64 {
	if max < 0x40000010 || max > 0x400000ff {
		return 0
	}
	kHz, _, _, _ := CPUID(0x40000010, 0)
	return uint64(kHz) * 1000
}

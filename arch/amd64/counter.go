package amd64

// The frequency of the time stamp counter, if CPUID gives it. Early and kernel context.

// Hypervisor is the kind of machine that the CPU says it runs in.
type Hypervisor uint8

const (
	HypervisorNone  Hypervisor = iota // real hardware, or no signature
	HypervisorQEMU                    // QEMU's own emulation of the CPU (TCG)
	HypervisorKVM                     // KVM, under QEMU or another
	HypervisorOther                   // VMware, Xen, Hyper-V and so on
)

// FindHypervisor reads the signature in CPUID leaf 0x40000000, on which hypervisors have agreed;
// max is the highest of their leaves, 0 without a hypervisor.
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

// ReportedTSC returns the frequency of the time stamp counter, in Hz, from CPUID leaf 0x15 (SDM
// Vol. 2A), or 0 if it is not there.
func ReportedTSC() uint64 {
	if max, _, _, _ := CPUID(0, 0); max < 0x15 {
		return 0
	}
	den, num, crystal, _ := CPUID(0x15, 0)
	if den == 0 || num == 0 || crystal == 0 {
		return 0
	}
	if num > 1<<31 {
		return 0 // not a possible ratio; the product must fit in 64 bits
	}
	return uint64(crystal) * uint64(num) / uint64(den)
}

// HypervisorTSC returns the frequency, in Hz, that a hypervisor reports in leaf 0x40000010
// (VMware's; QEMU has it under KVM), or 0. max is FindHypervisor's.
func HypervisorTSC(max uint32) uint64 {
	if max < 0x40000010 || max > 0x400000ff {
		return 0
	}
	kHz, _, _, _ := CPUID(0x40000010, 0)
	return uint64(kHz) * 1000
}

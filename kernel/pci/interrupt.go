package pci

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/mm"
)

// Interrupts that are messages: the function writes a number to an address, and the local
// APIC behind that address takes it for a vector (PCI 3.0, 6.8; SDM Vol. 3A, 10.11). So
// nothing needs to be known of how the board is wired.

const (
	apicMessages = 0xfee00000 // destination in bits 12 to 19; edge-triggered, fixed: all 0

	msiAddress = 4
	msiOn      = 1 << 0
	msiMany    = 7 << 4 // how many vectors
	msiWide    = 1 << 7 // addresses have 8 bytes

	msixTable = 4
	msixOn    = 1 << 15
	msixMask  = 1 << 14
)

// message returns the address of a message for this CPU.
func message() uint32 {
	_, ebx, _, _ := amd64.CPUID(1, 0)
	return apicMessages | ebx>>24<<12
}

// RouteMSI makes the function at a, which h describes, interrupt this CPU with vector. It
// returns false if the function has no such capability. Early and kernel context.
func (a Address) RouteMSI(h *Header, vector uint8) bool {
	c := h.Cap(CapMSI, 0)
	if c == 0 || c > 0xf0 {
		return false
	}
	control := uint16(h[c/4] >> 16)
	a.Write32(c+msiAddress, message())
	data := c + msiAddress + 4
	if control&msiWide != 0 {
		a.Write32(data, 0)
		data += 4
	}
	a.Write16(data, uint16(vector))
	a.Write16(c+2, control&^msiMany|msiOn)
	return true
}

// RouteMSIX makes message 0 of the function at a, which h describes, interrupt this CPU with
// vector. It returns false if the function has no such capability, or its table is out of
// reach. Early and kernel context.
func (a Address) RouteMSIX(h *Header, vector uint8) bool {
	c := h.Cap(CapMSIX, 0)
	if c == 0 || c > 0xf4 {
		return false
	}
	where := h[(c+msixTable)/4]
	base, ports, ok := h.Bar(uint8(where & 7))
	if !ok || ports {
		return false
	}
	entry := base + uintptr(where&^7)
	if !mm.MapDevice(entry, 16) {
		return false
	}
	control := uint16(h[c/4] >> 16)
	a.Write16(c+2, control|msixOn|msixMask)
	amd64.Store32(entry, message())
	amd64.Store32(entry+4, 0)
	amd64.Store32(entry+8, uint32(vector))
	amd64.Store32(entry+12, 0) // not masked
	a.Write16(c+2, control&^msixMask|msixOn)
	return true
}

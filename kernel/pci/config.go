package pci

import "github.com/zeroframe/zeroframe/arch/amd64"

// Configuration space by "mechanism #1" (PCI Local Bus Specification 3.0, 3.2.2.3.2): an
// address goes to one port, and the register is at another. It reaches the first 256
// bytes of each function.

const (
	portAddress = 0xcf8
	portData    = 0xcfc
	enable      = 1 << 31
)

// Address is where a function is: bus<<8 | device<<3 | function.
type Address uint16

// Bus returns the number of the bus.
func (a Address) Bus() uint8 { return uint8(a >> 8) }

// Present reports whether the machine has PCI that is reached by ports.
func Present() bool {
	amd64.Out32(portAddress, enable)
	return amd64.In32(portAddress) == enable
}

// Read32 reads the four bytes at off, a multiple of four, of a function's configuration
// space; all ones if there is no such function. Any context, interrupts off.
func (a Address) Read32(off uint8) uint32 {
	a.choose(off)
	return amd64.In32(portData)
}

// Write32 writes the four bytes at off, a multiple of four. Any context, interrupts off.
func (a Address) Write32(off uint8, v uint32) {
	a.choose(off)
	amd64.Out32(portData, v)
}

// Write16 writes the two bytes at off, a multiple of two, and nothing beside them: in the
// same four bytes there may be some that a write of ones clears. Any context, interrupts off.
func (a Address) Write16(off uint8, v uint16) {
	a.choose(off)
	amd64.Out16(portData+uint16(off&2), v)
}

func (a Address) choose(off uint8) {
	amd64.Out32(portAddress, enable|uint32(a)<<8|uint32(off&^3))
}

// Enable lets a function answer at its base addresses and reach memory by itself, and
// turns its interrupt pin off. Any context, interrupts off.
func (a Address) Enable() {
	const ports, memory, master, noPin = 1 << 0, 1 << 1, 1 << 2, 1 << 10
	a.Write16(regCommand, uint16(a.Read32(regCommand))|ports|memory|master|noPin)
}

// Read reads a function's configuration space. Early context.
func (a Address) Read(h *Header) {
	for i := range h {
		h[i] = a.Read32(uint8(i * 4))
	}
}

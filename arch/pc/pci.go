package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// PCI configuration space by "mechanism #1" (PCI Local Bus Specification 3.0, 3.2.2.3.2): an
// address goes to one port, and the register is at another. It reaches the first 256
// bytes of each function. A function is bus<<8 | device<<3 | number. Any context, interrupts
// off.

const (
	pciAddress = 0xcf8
	pciData    = 0xcfc
	pciEnable  = 1 << 31
)

// HasPCI reports whether the machine has PCI.
func HasPCI() bool {
	amd64.Out32(pciAddress, pciEnable)
	return amd64.In32(pciAddress) == pciEnable
}

// ReadPCI reads the four bytes at off, a multiple of four, of a function's configuration
// space; all ones if there is no such function.
func ReadPCI(function uint16, off uint8) uint32 {
	choose(function, off)
	return amd64.In32(pciData)
}

// WritePCI writes the four bytes at off, a multiple of four.
func WritePCI(function uint16, off uint8, v uint32) {
	choose(function, off)
	amd64.Out32(pciData, v)
}

// WritePCI16 writes only the two bytes at off, a multiple of two.
func WritePCI16(function uint16, off uint8, v uint16) {
	choose(function, off)
	amd64.Out16(pciData+uint16(off&2), v)
}

func choose(function uint16, off uint8) {
	amd64.Out32(pciAddress, pciEnable|uint32(function)<<8|uint32(off&^3))
}

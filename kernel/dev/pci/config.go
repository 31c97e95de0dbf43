package pci

import "github.com/zeroframe/zeroframe/arch"

// Address is the address of a function: bus<<8 | device<<3 | function.
type Address uint16

// Bus returns the number of the bus.
func (a Address) Bus() uint8 { return uint8(a >> 8) }

// Read32 reads the four bytes at off, a multiple of four, of a function's configuration
// space; all ones if there is no such function. Any context, interrupts off.
func (a Address) Read32(off uint8) uint32 { return arch.ReadPCI(uint16(a), off) }

// Write32 writes the four bytes at off, a multiple of four. Any context, interrupts off.
func (a Address) Write32(off uint8, v uint32) { arch.WritePCI(uint16(a), off, v) }

// Write16 writes only the two bytes at off, a multiple of two: the same four bytes may contain some
// that a write of ones clears. Any context, interrupts off.
func (a Address) Write16(off uint8, v uint16) { arch.WritePCI16(uint16(a), off, v) }

// Enable lets a function answer at its base addresses and access memory, and turns its interrupt
// pin off. Any context, interrupts off.
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

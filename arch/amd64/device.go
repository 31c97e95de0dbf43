package amd64

// Registers of devices, in ports and in memory, of all widths; In8, Out8 and Out32 are in instr.go.
// None of these accesses is dropped, doubled or moved, so they also serve for memory that a device
// reads and writes itself. Early and kernel context.

// In16 reads two bytes from an I/O port.
func In16(port uint16) uint16

// Out16 writes two bytes to an I/O port.
func Out16(port uint16, v uint16)

// In32 reads four bytes from an I/O port.
func In32(port uint16) uint32

// Load8 reads a register of one byte.
func Load8(addr uintptr) uint8

// Store8 writes a register of one byte.
func Store8(addr uintptr, v uint8)

// Load16 reads a register of two bytes.
func Load16(addr uintptr) uint16

// Store16 writes a register of two bytes.
func Store16(addr uintptr, v uint16)

// Load32 reads a register of four bytes.
func Load32(addr uintptr) uint32

// Store32 writes a register of four bytes.
func Store32(addr uintptr, v uint32)

// Fence returns when all earlier loads and stores are done, so that it also orders RDTSC and WRMSR,
// which are no loads or stores, after them (SDM Vol. 3A, 10.12.3; Vol. 2B, RDTSC). Any context.
func Fence()

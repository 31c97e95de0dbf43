package pci

import "github.com/zeroframe/zeroframe/arch"

// Interrupts as messages: the function writes a number to an address that stands for the CPU (PCI
// 3.0, 6.8). So the board's wiring does not matter.

// A routed message is one that Steer can redirect to another CPU.
type routed struct {
	number uint8
	cap    uint8 // of MSI; 0: entry is MSI-X's
	where  Address
	entry  uintptr
	id     uint32 // of the CPU that it goes to
}

var (
	messages    [16]routed // the first messages. Under the kernel lock.
	numMessages int        // set once at boot
)

const (
	msiAddress = 4
	msiOn      = 1 << 0
	msiMany    = 7 << 4 // how many messages
	msiWide    = 1 << 7 // addresses have 8 bytes

	msixTable = 4
	msixOn    = 1 << 15
	msixMask  = 1 << 14
)

// RouteMSI makes the function at a, which h describes, interrupt this CPU with that number. It
// returns false if the function has no such capability. Early and kernel context.
func (a Address) RouteMSI(h *Header, number uint8) bool {
	c := h.Cap(CapMSI, 0)
	if c == 0 || c > 0xf0 {
		return false
	}
	control := uint16(h[c/4] >> 16)
	address, message := arch.InterruptMessage(number)
	a.Write32(c+msiAddress, address)
	data := c + msiAddress + 4
	if control&msiWide != 0 {
		a.Write32(data, 0)
		data += 4
	}
	a.Write16(data, uint16(message))
	a.Write16(c+2, control&^msiMany|msiOn)
	keep(routed{number: number, cap: c, where: a})
	return true
}

// MSIXBytes is the number of bytes of registers that RouteMSIX writes at MSIXTable's address.
const MSIXBytes = 16

// MSIXTable returns the physical address of a function's message 0, which must be mapped before
// RouteMSIX. ok is false if the function has no such capability, or its table is not in memory. Any
// context.
func (h *Header) MSIXTable() (entry uintptr, ok bool) {
	c := h.Cap(CapMSIX, 0)
	if c == 0 || c > 0xf4 {
		return 0, false
	}
	where := h[(c+msixTable)/4]
	base, ports, ok := h.Bar(uint8(where & 7))
	return base + uintptr(where&^7), ok && !ports
}

// RouteMSIX makes message 0 of the function at a, which h describes and whose entry MSIXTable
// returned, interrupt this CPU with that number. Early and kernel context.
func (a Address) RouteMSIX(h *Header, entry uintptr, number uint8) {
	c := h.Cap(CapMSIX, 0)
	control := uint16(h[c/4] >> 16)
	a.Write16(c+2, control|msixOn|msixMask)
	address, message := arch.InterruptMessage(number)
	arch.Store32(entry, address)
	arch.Store32(entry+4, 0)
	arch.Store32(entry+8, message)
	arch.Store32(entry+12, 0) // not masked
	a.Write16(c+2, control&^msixMask|msixOn)
	keep(routed{number: number, where: a, entry: entry})
}

// keep records a message for Steer. Early context.
func keep(m routed) {
	if numMessages < len(messages) {
		m.id = arch.ThisID()
		messages[numMessages] = m
		numMessages++
	}
}

// Steer makes the functions that interrupt with that number interrupt the CPU of that ID, 255 at
// most, from now on. Kernel context.
func Steer(number uint8, id uint32) {
	for i := range messages[:numMessages] {
		m := &messages[i]
		if m.number != number || m.id == id {
			continue
		}
		m.id = id
		if m.cap != 0 {
			m.where.Write32(m.cap+msiAddress, arch.MessageAddress(id))
			continue
		}
		arch.Store32(m.entry+12, 1) // masked: one that comes meanwhile is sent afterwards
		arch.Store32(m.entry, arch.MessageAddress(id))
		arch.Store32(m.entry+12, 0)
	}
}

package pci

// A function's configuration space (PCI Local Bus Specification 3.0, chapter 6). All of it comes
// from the device, so nothing is taken for granted.

// Header is the first 256 bytes of a function's configuration space.
type Header [64]uint32

// Offsets in bytes.
const (
	regID       = 0x00
	regCommand  = 0x04
	regClass    = 0x08
	regKind     = 0x0c
	regBar      = 0x10
	regBuses    = 0x18 // of a bridge: primary, secondary, subordinate
	regCapFirst = 0x34

	kindBridge = 1
	kindMulti  = 0x80
	classHost  = 0x0600

	hasCaps = 1 << 4 // of the status
)

// Identities of capabilities.
const (
	CapMSI    = 0x05
	CapVendor = 0x09
	CapMSIX   = 0x11
)

// Byte returns the byte at off.
func (h *Header) Byte(off uint8) uint8 { return uint8(h[off/4] >> (off % 4 * 8)) }

// Device returns the vendor's number for the device.
func (h *Header) Device() uint16 { return uint16(h[0] >> 16) }

// Bar returns base address i, 0 to 5, and whether it is one of ports. ok is false if there is none,
// if it was never set, is the upper half of another, or cannot be reached: a base address must be
// below 128 TiB, where the lower half of virtual addresses ends.
func (h *Header) Bar(i uint8) (base uintptr, ports, ok bool) {
	const (
		isPorts  = 1 << 0
		width    = 3 << 1
		width32  = 0 << 1
		width64  = 2 << 1
		maxBase  = 1 << 47
		firstBar = regBar / 4
	)
	if i > 5 || h.Byte(regKind+2)&0x7f != 0 {
		return 0, false, false
	}
	for j := uint8(0); j < i; j++ {
		if v := h[firstBar+j]; v&isPorts == 0 && v&width == width64 {
			if j++; j == i {
				return 0, false, false
			}
		}
	}
	v := h[firstBar+i]
	if v&isPorts != 0 {
		base = uintptr(v &^ 3)
		return base, true, base != 0 && base < 1<<16
	}
	base = uintptr(v &^ 15)
	switch v & width {
	case width32:
	case width64:
		if i == 5 {
			return 0, false, false
		}
		base |= uintptr(h[firstBar+i+1]) << 32
	default:
		return 0, false, false
	}
	return base, false, base != 0 && base < maxBase
}

// MaxCaps is the largest number of capabilities that fit. A longer list is a loop.
const MaxCaps = (256 - 0x40) / 4

// Cap returns the offset of the first capability with that identity after the one at after, from
// 0x40 to 0xfc, or of all if after is 0; 0 if there is none. A list may be a loop without end, so a
// caller that asks for the next one must stop at MaxCaps.
func (h *Header) Cap(id, after uint8) uint8 {
	if h.Byte(regCommand+2)&hasCaps == 0 {
		return 0
	}
	at := h.Byte(regCapFirst)
	if after != 0 {
		at = h.Byte(after + 1)
	}
	for range MaxCaps {
		at &^= 3
		if at < 0x40 {
			return 0
		}
		if h.Byte(at) == id {
			return at
		}
		at = h.Byte(at + 1)
	}
	return 0
}

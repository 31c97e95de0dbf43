package virtio

import (
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Where a device's registers are on PCI.

// olderIDs are the PCI device IDs of the types that older drivers also know (4.1.2.1). Never
// written.
var olderIDs = [...]uint32{TypeNetwork: 0x1000, TypeConsole: 0x1003, Type9P: 0x1009}

// IsPCI reports whether the PCI function with that ID, vendor in the lower half, is a virtio device
// of that type.
func IsPCI(id uint32, typ uint16) bool {
	return id&0xffff == 0x1af4 && (id>>16 == olderIDs[typ] || id>>16 == 0x1040+uint32(typ))
}

// FindPCI finds the registers of the function that h describes, with at least config bytes of its
// type's configuration, and maps them. It returns false if some are missing. Early and kernel
// context.
func (d *Device) FindPCI(h *pci.Header, config uint32) bool {
	if l := readLayout(h); l.ok(config) {
		*d = Device{
			kind: modern, common: mem.MapDevice(l.commonAt, commonBytes),
			notifyBase: mem.MapDevice(l.notifyAt, uintptr(l.notify.size)),
			config:     mem.MapDevice(l.deviceAt, uintptr(config)), notifySize: uintptr(l.notify.size),
			notifyStep: uintptr(l.notifyStep),
		}
		if d.common != 0 && d.notifyBase != 0 && d.config != 0 {
			return true
		}
	}
	if base, isPorts, ok := h.Bar(0); ok && isPorts && h.Device() < 0x1040 {
		*d = Device{kind: legacy, ports: uint16(base)}
		return true
	}
	return false
}

// part is the place of one structure of registers: an offset and a size in the range of base
// address bar, in bytes.
type part struct {
	bar          uint8
	offset, size uint32
}

// layout is what the vendor capabilities of a modern device say (4.1.4.3).
type layout struct {
	common, notify, device part
	commonAt               uintptr // addresses
	notifyAt               uintptr
	deviceAt               uintptr
	notifyStep             uint32
}

// readLayout reads the capabilities. If there are several for one structure, the first one in
// memory counts.
func readLayout(h *pci.Header) (l layout) {
	const (
		capLength = 2 // offsets of 1 byte
		capKind   = 3
		capBar    = 4
		capOffset = 8 // of 4 bytes
		capSize   = 12
		capStep   = 16

		kindCommon = 1
		kindNotify = 2
		kindDevice = 4
		maxSize    = 1 << 24 // no device has more
	)
	at := uint8(0)
	for range pci.MaxCaps {
		if at = h.Cap(pci.CapVendor, at); at == 0 {
			break
		}
		length := h.Byte(at + capLength)
		if length < capStep || int(at)+int(length) > len(h)*4 {
			continue
		}
		p := part{h.Byte(at + capBar), h[(at+capOffset)/4], h[(at+capSize)/4]}
		base, isPorts, ok := h.Bar(p.bar)
		if !ok || isPorts || p.offset >= maxSize || p.size > maxSize {
			continue
		}
		addr := base + uintptr(p.offset)
		switch h.Byte(at + capKind) {
		case kindCommon:
			if l.commonAt == 0 {
				l.common, l.commonAt = p, addr
			}
		case kindNotify:
			if l.notifyAt == 0 && length >= capStep+4 && int(at)+capStep+4 <= len(h)*4 {
				l.notify, l.notifyAt, l.notifyStep = p, addr, h[(at+capStep)/4]
			}
		case kindDevice:
			if l.deviceAt == 0 {
				l.device, l.deviceAt = p, addr
			}
		}
	}
	return l
}

// ok reports whether everything that a driver needs is there, and large enough.
func (l *layout) ok(config uint32) bool {
	return l.commonAt != 0 && l.common.size >= commonBytes && l.commonAt%4 == 0 &&
		l.notifyAt != 0 && l.notify.size >= 2 && l.notifyAt%2 == 0 && l.notifyStep%2 == 0 &&
		l.deviceAt != 0 && l.device.size >= config
}

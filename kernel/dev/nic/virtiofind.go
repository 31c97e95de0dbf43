package nic

import (
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Where a virtio device's registers are.

// isVirtio reports whether a PCI function is a virtio network card: 0x1000 one that older
// drivers know too, 0x1041 one that they do not.
func isVirtio(id uint32) bool { return id == 0x1000<<16|0x1af4 || id == 0x1041<<16|0x1af4 }

func findVirtio(uint32) bool {
	if l := virtioLayout(&header); l.ok() && l.reach() {
		card = virtioModern
		return true
	}
	if base, isPorts, ok := header.Bar(0); ok && isPorts && header.Device() == 0x1000 {
		card, ports = virtioLegacy, uint16(base)
		return true
	}
	return false
}

// part is where one structure of registers is: an offset and a size in what base address
// bar names, in bytes.
type part struct {
	bar          uint8
	offset, size uint32
}

// layout is what the vendor capabilities of a modern virtio device say (4.1.4.3).
type layout struct {
	common, notify, device part
	commonAt               uintptr // addresses
	notifyAt               uintptr
	deviceAt               uintptr
	notifyStep             uint32
}

const macBytes = 6

// virtioLayout reads the capabilities. Of several for the same structure the first one
// counts that is in memory.
func virtioLayout(h *pci.Header) (l layout) {
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
	for n := 0; n < pci.MaxCaps; n++ {
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

// ok reports whether all is there that the driver needs, and large enough.
func (l *layout) ok() bool {
	return l.commonAt != 0 && l.common.size >= commonBytes && l.commonAt%4 == 0 &&
		l.notifyAt != 0 && l.notify.size >= 2 && l.notifyAt%2 == 0 && l.notifyStep%2 == 0 &&
		l.deviceAt != 0 && l.device.size >= macBytes
}

// reach maps the registers, and notes where they are.
func (l *layout) reach() bool {
	common, notifyBase, netConfig = l.commonAt, l.notifyAt, l.deviceAt
	notifySize, notifyStep = uintptr(l.notify.size), uintptr(l.notifyStep)
	return mem.MapDevice(common, commonBytes) && mem.MapDevice(notifyBase, notifySize) && mem.MapDevice(netConfig, macBytes)
}

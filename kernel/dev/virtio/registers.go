package virtio

import "github.com/zeroframe/zeroframe/arch"

// A device's registers, in one of four places: the structures that a PCI capability points to
// (4.1.4), the ports of older PCI devices (4.1.4.10), and a page of their own, in two versions
// (4.2.2, 4.2.4).

// The common configuration of a modern PCI device.
const (
	commonFeatureSelect = 0  // 4 bytes
	commonFeature       = 4  // 4
	commonDriverSelect  = 8  // 4
	commonDriver        = 12 // 4
	commonStatus        = 20 // 1
	commonQueueSelect   = 22 // 2
	commonQueueSize     = 24 // 2
	commonQueueVector   = 26 // 2
	commonQueueEnable   = 28 // 2
	commonQueueNotify   = 30 // 2
	commonQueueDesc     = 32 // 8
	commonQueueAvail    = 40 // 8
	commonQueueUsed     = 48 // 8
	commonBytes         = 56
)

// The ports of an older PCI device.
const (
	portFeatures      = 0  // 4 bytes
	portDriver        = 4  // 4
	portQueuePage     = 8  // 4
	portQueueSize     = 12 // 2
	portQueueSelect   = 14 // 2
	portQueueNotify   = 16 // 2
	portStatus        = 18 // 1
	portConfig        = 20
	portQueueVector   = 22 // 2, if MSI-X is on; then the configuration begins after it
	portConfigVectors = 24
)

// The registers of a device without PCI, of 4 bytes each. The drivers' tests use the numbers, too,
// because their devices are plain memory.
const (
	mmioMagic         = 0x00
	mmioVersion       = 0x04
	mmioDevice        = 0x08
	MMIOFeatures      = 0x10
	mmioFeatureSelect = 0x14
	mmioDriver        = 0x20
	mmioDriverSelect  = 0x24
	mmioPageSize      = 0x28 // version 1
	mmioQueueSelect   = 0x30
	MMIOQueueMax      = 0x34
	mmioQueueSize     = 0x38
	mmioQueueAlign    = 0x3c // version 1
	mmioQueuePage     = 0x40 // version 1
	mmioQueueReady    = 0x44
	mmioNotify        = 0x50
	mmioStatus        = 0x70
	mmioQueueDesc     = 0x80 // 8 bytes
	mmioQueueAvail    = 0x90 // 8
	mmioQueueUsed     = 0xa0 // 8
	MMIOConfig        = 0x100
	MMIOBytes         = 0x200 // size of the registers in bytes
)

// Status returns the device's status, a sum of the Status constants.
func (d *Device) Status() uint8 {
	switch d.kind {
	case modern:
		return arch.Load8(d.common + commonStatus)
	case legacy:
		return arch.ReadPort8(d.ports + portStatus)
	}
	return uint8(arch.Load32(d.mmio + mmioStatus))
}

// setStatus reports the driver's progress; 0 resets the device.
func (d *Device) setStatus(v uint8) {
	switch d.kind {
	case modern:
		arch.Store8(d.common+commonStatus, v)
	case legacy:
		arch.WritePort8(d.ports+portStatus, v)
	default:
		arch.Store32(d.mmio+mmioStatus, uint32(v))
		if v == 0 && d.version == 1 {
			arch.Store32(d.mmio+mmioPageSize, arch.PageSize)
		}
	}
}

// features returns 32 of the features that the device offers.
func (d *Device) features(word uint32) uint32 {
	switch d.kind {
	case modern:
		arch.Store32(d.common+commonFeatureSelect, word)
		return arch.Load32(d.common + commonFeature)
	case legacy:
		return arch.ReadPort32(d.ports + portFeatures)
	}
	arch.Store32(d.mmio+mmioFeatureSelect, word)
	return arch.Load32(d.mmio + MMIOFeatures)
}

// setFeatures sets which of them will be used.
func (d *Device) setFeatures(word, v uint32) {
	switch d.kind {
	case modern:
		arch.Store32(d.common+commonDriverSelect, word)
		arch.Store32(d.common+commonDriver, v)
	case legacy:
		arch.WritePort32(d.ports+portDriver, v)
	default:
		arch.Store32(d.mmio+mmioDriverSelect, word)
		arch.Store32(d.mmio+mmioDriver, v)
	}
}

// maxQueueSize selects a queue, and returns the largest number of descriptors; on an older PCI
// device this is the number.
func (d *Device) maxQueueSize(i uint16) uint32 {
	switch d.kind {
	case modern:
		arch.Store16(d.common+commonQueueSelect, i)
		return uint32(arch.Load16(d.common + commonQueueSize))
	case legacy:
		arch.WritePort16(d.ports+portQueueSelect, i)
		return uint32(arch.ReadPort16(d.ports + portQueueSize))
	}
	arch.Store32(d.mmio+mmioQueueSelect, uint32(i))
	return arch.Load32(d.mmio + MMIOQueueMax)
}

// SetQueue tells the device where queue i is, and reports whether the device accepts it. If
// interrupts is set, the function sends message 0 when the device has used something in the queue.
func (d *Device) SetQueue(i uint16, q *Queue, interrupts bool) bool {
	d.maxQueueSize(i)
	switch {
	case d.kind == modern:
		at := uintptr(arch.Load16(d.common+commonQueueNotify)) * d.notifyStep
		if i >= maxQueues || at+2 > d.notifySize {
			return false
		}
		d.notifyAt[i] = d.notifyBase + at
		arch.Store16(d.common+commonQueueSize, q.Size)
		if interrupts {
			arch.Store16(d.common+commonQueueVector, 0)
		}
		arch.Store64(d.common+commonQueueDesc, arch.Physical(q.desc))
		arch.Store64(d.common+commonQueueAvail, arch.Physical(q.avail))
		arch.Store64(d.common+commonQueueUsed, arch.Physical(q.used))
		arch.Store16(d.common+commonQueueEnable, 1)
		return arch.Load16(d.common+commonQueueEnable) == 1
	case d.kind == legacy:
		arch.WritePort32(d.ports+portQueuePage, uint32(arch.Physical(q.desc)/arch.PageSize))
		if interrupts {
			arch.WritePort16(d.ports+portQueueVector, 0)
		}
		return true
	}
	arch.Store32(d.mmio+mmioQueueSize, uint32(q.Size))
	if d.version == 1 {
		arch.Store32(d.mmio+mmioQueueAlign, arch.PageSize)
		arch.Store32(d.mmio+mmioQueuePage, uint32(arch.Physical(q.desc)/arch.PageSize))
		return true
	}
	arch.Store64(d.mmio+mmioQueueDesc, arch.Physical(q.desc))
	arch.Store64(d.mmio+mmioQueueAvail, arch.Physical(q.avail))
	arch.Store64(d.mmio+mmioQueueUsed, arch.Physical(q.used))
	arch.Store32(d.mmio+mmioQueueReady, 1)
	return arch.Load32(d.mmio+mmioQueueReady) == 1
}

// Notify tells the device that there is something new in queue i.
func (d *Device) Notify(i uint16) {
	switch d.kind {
	case modern:
		arch.Store16(d.notifyAt[i], i)
	case legacy:
		arch.WritePort16(d.ports+portQueueNotify, i)
	default:
		arch.Store32(d.mmio+mmioNotify, uint32(i))
	}
}

// Config returns byte i of the configuration of the device's type. messages says whether its
// interrupts are messages, which moves the configuration on older devices.
func (d *Device) Config(i uint16, messages bool) uint8 {
	switch d.kind {
	case modern:
		return arch.Load8(d.config + uintptr(i))
	case legacy:
		base := d.ports + portConfig
		if messages {
			base = d.ports + portConfigVectors
		}
		return arch.ReadPort8(base + i)
	}
	return arch.Load8(d.mmio + MMIOConfig + uintptr(i))
}

package nic

import "github.com/zeroframe/zeroframe/arch"

// A virtio device's registers, in the four places where they may be: the structures that a
// PCI capability points at (4.1.4), the ports of older PCI devices (4.1.4.10), and on a
// page of their own, in two versions (4.2.2, 4.2.4).

// Set once at boot.
var (
	// Of a modern PCI device: the common configuration, what is notified and how far the
	// queues are apart there, and the configuration of a network card.
	common     uintptr
	notifyBase uintptr
	notifyStep uintptr
	notifySize uintptr
	netConfig  uintptr
	notifyAt   [2]uintptr // of the queues

	ports       uint16  // of an older PCI device
	mmio        uintptr // of one without PCI
	mmioVersion uint32
)

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
	portQueueVector   = 22 // 2, if MSI-X is on; then the configuration begins behind it
	portConfigVectors = 24
)

// The registers of a device without PCI, of 4 bytes each.
const (
	mmioMagic         = 0x00
	mmioVersionNumber = 0x04
	mmioDevice        = 0x08
	mmioFeatures      = 0x10
	mmioFeatureSelect = 0x14
	mmioDriver        = 0x20
	mmioDriverSelect  = 0x24
	mmioPageSize      = 0x28 // version 1
	mmioQueueSelect   = 0x30
	mmioQueueMax      = 0x34
	mmioQueueSize     = 0x38
	mmioQueueAlign    = 0x3c // version 1
	mmioQueuePage     = 0x40 // version 1
	mmioQueueReady    = 0x44
	mmioNotify        = 0x50
	mmioStatus        = 0x70
	mmioQueueDesc     = 0x80 // 8 bytes
	mmioQueueAvail    = 0x90 // 8
	mmioQueueUsed     = 0xa0 // 8
	mmioConfig        = 0x100
	mmioBytes         = 0x200
)

// store64 writes a register of eight bytes.
func store64(addr uintptr, v uintptr) {
	arch.Store32(addr, uint32(v))
	arch.Store32(addr+4, uint32(uint64(v)>>32))
}

func status() uint8 {
	switch card {
	case virtioModern:
		return arch.Load8(common + commonStatus)
	case virtioLegacy:
		return arch.ReadPort8(ports + portStatus)
	}
	return uint8(arch.Load32(mmio + mmioStatus))
}

func setStatus(v uint8) {
	switch card {
	case virtioModern:
		arch.Store8(common+commonStatus, v)
	case virtioLegacy:
		arch.WritePort8(ports+portStatus, v)
	default:
		arch.Store32(mmio+mmioStatus, uint32(v))
		if v == 0 && mmioVersion == 1 {
			arch.Store32(mmio+mmioPageSize, arch.PageSize)
		}
	}
}

// features returns 32 of the features that the device offers.
func features(word uint32) uint32 {
	switch card {
	case virtioModern:
		arch.Store32(common+commonFeatureSelect, word)
		return arch.Load32(common + commonFeature)
	case virtioLegacy:
		return arch.ReadPort32(ports + portFeatures)
	}
	arch.Store32(mmio+mmioFeatureSelect, word)
	return arch.Load32(mmio + mmioFeatures)
}

// setFeatures says which of them will be used.
func setFeatures(word, v uint32) {
	switch card {
	case virtioModern:
		arch.Store32(common+commonDriverSelect, word)
		arch.Store32(common+commonDriver, v)
	case virtioLegacy:
		arch.WritePort32(ports+portDriver, v)
	default:
		arch.Store32(mmio+mmioDriverSelect, word)
		arch.Store32(mmio+mmioDriver, v)
	}
}

// maxQueueSize chooses a queue, and returns how many descriptors it may have; on an older
// PCI device it has that many.
func maxQueueSize(i uint16) uint32 {
	switch card {
	case virtioModern:
		arch.Store16(common+commonQueueSelect, i)
		return uint32(arch.Load16(common + commonQueueSize))
	case virtioLegacy:
		arch.WritePort16(ports+portQueueSelect, i)
		return uint32(arch.ReadPort16(ports + portQueueSize))
	}
	arch.Store32(mmio+mmioQueueSelect, uint32(i))
	return arch.Load32(mmio + mmioQueueMax)
}

// setQueue tells the device where a queue is.
func setQueue(i uint16, q *queue) bool {
	maxQueueSize(i)
	switch {
	case card == virtioModern:
		at := uintptr(arch.Load16(common+commonQueueNotify)) * notifyStep
		if at+2 > notifySize {
			return false
		}
		notifyAt[i] = notifyBase + at
		arch.Store16(common+commonQueueSize, q.size)
		if interrupts && i == queueReceive {
			arch.Store16(common+commonQueueVector, 0)
		}
		store64(common+commonQueueDesc, q.desc)
		store64(common+commonQueueAvail, q.avail)
		store64(common+commonQueueUsed, q.used)
		arch.Store16(common+commonQueueEnable, 1)
		return arch.Load16(common+commonQueueEnable) == 1
	case card == virtioLegacy:
		arch.WritePort32(ports+portQueuePage, uint32(q.desc/arch.PageSize))
		if interrupts && i == queueReceive {
			arch.WritePort16(ports+portQueueVector, 0)
		}
		return true
	}
	arch.Store32(mmio+mmioQueueSize, uint32(q.size))
	if mmioVersion == 1 {
		arch.Store32(mmio+mmioQueueAlign, arch.PageSize)
		arch.Store32(mmio+mmioQueuePage, uint32(q.desc/arch.PageSize))
		return true
	}
	store64(mmio+mmioQueueDesc, q.desc)
	store64(mmio+mmioQueueAvail, q.avail)
	store64(mmio+mmioQueueUsed, q.used)
	arch.Store32(mmio+mmioQueueReady, 1)
	return arch.Load32(mmio+mmioQueueReady) == 1
}

// notify tells the device that there is something new in a queue.
func notify(i uint16) {
	switch card {
	case virtioModern:
		arch.Store16(notifyAt[i], i)
	case virtioLegacy:
		arch.WritePort16(ports+portQueueNotify, i)
	default:
		arch.Store32(mmio+mmioNotify, uint32(i))
	}
}

// deviceByte returns a byte of what the device says of itself as a network card.
func deviceByte(i uint8) uint8 {
	switch card {
	case virtioModern:
		return arch.Load8(netConfig + uintptr(i))
	case virtioLegacy:
		base := ports + portConfig
		if interrupts {
			base = ports + portConfigVectors
		}
		return arch.ReadPort8(base + uint16(i))
	}
	return arch.Load8(mmio + mmioConfig + uintptr(i))
}

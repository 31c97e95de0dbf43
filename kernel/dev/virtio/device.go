package virtio

import "github.com/zeroframe/zeroframe/arch"

// The types of devices (Virtual I/O Device 1.2, 5), for [Device.FindPCI] and [Places.Next].
const (
	TypeNetwork = 1
	TypeConsole = 3
	Type9P      = 9
)

// Bits of a device's status (2.1).
const (
	statusAcknowledge = 1
	statusDriver      = 2
	statusDriverOK    = 4
	statusFeaturesOK  = 8
	StatusNeedsReset  = 64 // it has given up until it is reset
)

// Features of any device, by number (6).
const (
	featureVersion1 = 32
	featurePlatform = 33 // the device's addresses go through an IOMMU, which nobody has set up
)

// maxQueues is the largest number of queues of a device.
const maxQueues = 6

// kind is how a device's registers are reached.
type kind uint8

const (
	_ kind = iota
	modern
	legacy
	memory
)

// Device is a virtio device whose registers were found; the zero Device is none. It holds no
// pointers, and belongs to its driver's package alone.
type Device struct {
	kind    kind
	version uint32 // of one without PCI

	// For a modern PCI device: the common configuration, the notification registers and their
	// distance, and the configuration of its type.
	common, notifyBase, notifyStep, notifySize, config uintptr
	notifyAt                                           [maxQueues]uintptr

	ports uint16  // of an older PCI device
	mmio  uintptr // of one without PCI
}

// Modern reports whether the device is driven by version 1 of the specification.
func (d *Device) Modern() bool { return d.kind == modern || d.kind == memory && d.version >= 2 }

// Legacy reports whether it is an older PCI device.
func (d *Device) Legacy() bool { return d.kind == legacy }

// FromMemory makes d the device whose registers are at address base, with that version of their
// layout. For tests of drivers; [Places] finds those of the machine.
func (d *Device) FromMemory(base uintptr, version uint32) {
	*d = Device{kind: memory, mmio: base, version: version}
}

// Reset resets the device, polling patience times until it is done, and announces a driver. It
// returns false if the device does not answer.
func (d *Device) Reset(patience int) bool {
	d.setStatus(0)
	for i := 0; d.Status() != 0; i++ {
		if i == patience {
			return false
		}
		arch.Pause()
	}
	d.setStatus(statusAcknowledge)
	d.setStatus(statusAcknowledge | statusDriver)
	return true
}

// Agree accepts those of the wanted features, one bit each, that the device offers, and returns
// them; of features that are one argument it accepts all or none. ok is false if the two cannot
// work together. Call it after Reset.
func (d *Device) Agree(want ...uint32) (agreed uint32, ok bool) {
	offered := d.features(0)
	for _, w := range want {
		if offered&w == w {
			agreed |= w
		}
	}
	d.setFeatures(0, agreed)
	if d.Modern() {
		high := d.features(1)
		d.setFeatures(1, high&(1<<(featureVersion1-32)|1<<(featurePlatform-32)))
		d.setStatus(statusAcknowledge | statusDriver | statusFeaturesOK)
		if high&(1<<(featureVersion1-32)) == 0 || d.Status()&statusFeaturesOK == 0 {
			return agreed, false
		}
	}
	return agreed, true
}

// Ready tells the device that its queues are set up. Call it after SetQueue.
func (d *Device) Ready() {
	on := uint8(statusAcknowledge | statusDriver | statusDriverOK)
	if d.Modern() {
		on |= statusFeaturesOK
	}
	d.setStatus(on)
}

// Works reports whether the device has accepted Ready.
func (d *Device) Works() bool {
	return d.Status()&(statusDriverOK|StatusNeedsReset) == statusDriverOK
}

// QueueSize returns the number of descriptors of queue i: want, a power of two, or what the device
// allows; 0 if it has no such queue, or wants more than maxQueue.
func (d *Device) QueueSize(i, want uint16) uint16 {
	most := d.maxQueueSize(i)
	if d.kind == legacy {
		if most > maxQueue || most&(most-1) != 0 {
			return 0
		}
		return uint16(most)
	}
	for uint32(want) > most {
		want /= 2
	}
	return want
}

package nic

// Being told that a frame has come, where the card can say so by a message. Others are
// asked now and then (package linuxabi).

// Vector is the vector of the card's interrupt.
const Vector = 0x45

// interrupts is set when the card interrupts. start keeps to it.
var interrupts bool

// Interrupts reports whether the card interrupts when a frame has come. Any context.
func Interrupts() bool { return interrupts }

// Listen makes the card interrupt with Vector when a frame has come, if it can do that by a
// message: virtio-net on PCI with MSI-X, and e1000e. The local APIC is on. Early context.
func Listen() {
	var ok bool
	switch card {
	case virtioModern, virtioLegacy:
		where.Read(&header)
		// The capability counts while the queue's vector is set, so the device starts anew.
		ok = where.RouteMSIX(&header, Vector)
	case e1000e:
		where.Read(&header)
		ok = where.RouteMSI(&header, Vector)
	}
	if !ok {
		return
	}
	if interrupts = true; !start() {
		card, interrupts = none, false
	}
}

// Acknowledge tells the card that its interrupt has been seen. Kernel context.
func Acknowledge() {
	if card == e1000e {
		reg(e1000Cause)
	}
}

package port

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Input lies in buffers that the device has had since boot, and each is returned to it when its
// last byte has been read: a host that sends more waits, and nothing is lost.
//
// A device with several ports brings no input to a port that the driver has not opened, with a
// message on the control queue (Virtual I/O Device 1.2, 5.3.6.2). Its answers are ignored.

const (
	receiveOnly    = 0 // input of the one port
	receiveOfPort1 = 4 // input of port 1 of several
	controlOut     = 3
	receiveSlots   = 4

	messageBytes = 8
	openPort     = 6 // VIRTIO_CONSOLE_PORT_OPEN
)

// Set once at boot.
var (
	incoming   virtio.Queue
	control    virtio.Queue
	inbox      uintptr // the buffers
	empty      uint16  // number of buffers; 0: nothing is received
	receive    uint16  // number of the queue
	interrupts bool    // the device interrupts for it
)

// Under the kernel lock.
var (
	done     uint16 // buffers that were returned
	current  uint16 // the one that is being read
	next     uint32 // its next byte
	received uint32 // its length; 0: none is being read
)

// route makes the function at a interrupt with a message, if it can.
func route(a pci.Address) bool {
	entry, ok := header.MSIXTable()
	if !ok || device.Legacy() || !arch.LocalInterrupts() {
		return false
	}
	if entry = mem.MapDevice(entry, pci.MSIXBytes); entry == 0 {
		return false
	}
	a.RouteMSIX(&header, entry, arch.InterruptPort)
	return true
}

// inboxFor returns the memory that is needed to receive through a queue of size descriptors, and to
// open the port through another.
func inboxFor(size, controls uint16) uintptr {
	return virtio.QueueBytes(size) + virtio.QueueBytes(controls) +
		uintptr(min(size, receiveSlots)+1)*slotBytes
}

// beginReceiving gives the device a queue of size descriptors in that memory, and one of controls
// descriptors if that is not 0. It reports whether the device accepts them.
func beginReceiving(memory uintptr, size, controls uint16) bool {
	incoming.Place(memory, size)
	memory += virtio.QueueBytes(size)
	incoming.Clear()
	incoming.Silence(!interrupts)
	if !device.SetQueue(receive, &incoming, interrupts) {
		return false
	}
	if controls > 0 {
		control.Place(memory, controls)
		memory += virtio.QueueBytes(controls)
		control.Clear()
		control.Silence(true)
		if !device.SetQueue(controlOut, &control, false) {
			return false
		}
		arch.Store32(memory, 1) // the port
		arch.Store16(memory+4, openPort)
		arch.Store16(memory+6, 1) // yes
		control.Describe(0, memory, messageBytes, 0, 0)
		memory += slotBytes
	}
	inbox, empty = memory, min(size, receiveSlots)
	done, next, received = 0, 0, 0
	return true
}

// listen lets the device deliver input. Call it after Ready.
func listen(controls uint16) {
	for i := range empty {
		incoming.Describe(i, inbox+uintptr(i)*slotBytes, slotBytes, virtio.DescWrite, 0)
		incoming.Publish(i)
	}
	device.Notify(receive)
	if controls > 0 {
		control.Publish(0)
		device.Notify(controlOut)
	}
}

// Listens reports whether the device delivers input, and interrupts for it with
// [arch.InterruptPort]. Any context.
func Listens() bool { return empty > 0 && interrupts }

// Receive takes one byte of input; ok is false if there is none. It does not wait. Early and kernel
// context, and the panic path.
func Receive() (b byte, ok bool) {
	percpu.AssertLocked()
	for range receiveSlots { // the device is not trusted: a buffer may be empty
		if next < received {
			break
		}
		if empty == 0 || incoming.UsedIndex() == done {
			return 0, false
		}
		i, n := incoming.Used(done)
		current = uint16(i % uint32(empty))
		next, received = 0, min(n, slotBytes)
		if received == 0 {
			giveBack()
		}
	}
	if next >= received {
		return 0, false
	}
	b = arch.Load8(inbox + uintptr(current)*slotBytes + uintptr(next))
	if next++; next == received {
		giveBack()
	}
	return b, true
}

// giveBack returns the buffer that has been read to the device.
func giveBack() {
	done++
	next, received = 0, 0
	incoming.Publish(current)
	device.Notify(receive)
}

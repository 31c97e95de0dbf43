package port

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// A virtio console (Virtual I/O Device 1.2, 5.3). If the device has several ports, it is port 1,
// because QEMU's port 0 is a console, and drops what the host does not take at once
// (hw/char/virtio-console.c, flush_buf). The control queues are not used for output: the host has
// the port open from the start. Each buffer is one descriptor, and they are used in order.

const (
	featurePorts = 1 // by number: it has several ports

	queueOnly     = 1 // output of the one port
	queueOfPort1  = 5 // output of port 1 of several
	slots         = 16
	slotBytes     = arch.PageSize
	resetPatience = 200_000

	// patience is how often the device is checked before output that it does not take is dropped,
	// for some 20 seconds, as with the serial port; once it has stood still, for a millisecond.
	patience        = 20_000_000
	stalledPatience = 1_000
)

// Set once at boot.
var (
	device virtio.Device
	queue  virtio.Queue
	room   uintptr // the buffers
	used   uint16  // number of buffers; 0: there is no port
	send   uint16  // number of the queue
)

// Under the kernel lock; the panic path takes none.
var (
	header  pci.Header // of the function that is being examined
	stalled bool       // the last output was dropped
)

// Init finds the device and starts it, and reports whether it works. Early context, when the page
// tables are set up and before mem.Release.
func Init() bool {
	if arch.HasPCI() {
		s := pci.Scan{}
		for a, id, ok := s.Next(); ok && used == 0; a, id, ok = s.Next() {
			if !virtio.IsPCI(id, virtio.TypeConsole) {
				continue
			}
			a.Read(&header)
			a.Enable()
			if device.FindPCI(&header, 4) {
				interrupts = route(a)
				start()
			}
		}
	}
	for p := (virtio.Places{}); used == 0 && p.Next(&device, virtio.TypeConsole); {
		interrupts = false
		start()
	}
	return used > 0
}

// Buffers returns the number of output buffers, a page each; 0 without a device that works. Any
// context.
func Buffers() int { return int(used) }

// start starts the device.
func start() {
	size, in, controls := offered()
	if size == 0 {
		return
	}
	memory := mem.Contiguous(roomFor(size))
	if memory == 0 {
		return
	}
	var more uintptr
	if in > 0 {
		more = mem.Contiguous(inboxFor(in, controls))
	}
	begin(memory, more, size, in, controls)
}

// offered resets the device and returns the numbers of descriptors of its queues: for output, 0 if
// the device does not work, for input, and for opening the port.
func offered() (size, in, controls uint16) {
	if !device.Reset(resetPatience) {
		return 0, 0, 0
	}
	features, ok := device.Agree(1 << featurePorts)
	if !ok {
		return 0, 0, 0
	}
	send, receive = queueOnly, receiveOnly
	if features&(1<<featurePorts) != 0 {
		send, receive = queueOfPort1, receiveOfPort1
		if controls = device.QueueSize(controlOut, receiveSlots); controls == 0 {
			return device.QueueSize(send, slots), 0, 0
		}
	}
	return device.QueueSize(send, slots), device.QueueSize(receive, receiveSlots), controls
}

// roomFor returns the memory that a queue of size descriptors needs, with its buffers.
func roomFor(size uint16) uintptr {
	return virtio.QueueBytes(size) + uintptr(min(size, slots))*slotBytes
}

// begin gives the device a queue of size descriptors in that memory, and those for receiving in
// more, unless that is 0.
func begin(memory, more uintptr, size, in, controls uint16) {
	n := min(size, slots)
	queue.Place(memory, size)
	room = memory + virtio.QueueBytes(size)
	queue.Clear()
	for i := range n {
		queue.Describe(i, room+uintptr(i)*slotBytes, 0, 0, 0)
	}
	queue.Silence(true)
	if !device.SetQueue(send, &queue, false) {
		return
	}
	receives := more != 0 && beginReceiving(more, in, controls)
	if !receives {
		empty = 0
	}
	if device.Ready(); device.Works() {
		used = n
		if receives {
			listen(controls)
		}
	}
}

// Keep stores a second copy of what Flush and Receive need (arch.Keep).
func Keep() {
	arch.KeepVar(&device)
	arch.KeepVar(&queue)
	arch.KeepVar(&used)
	arch.KeepVar(&incoming)
	arch.KeepVar(&inbox)
	arch.KeepVar(&empty)
}

// Send hands bytes over, and returns how many of them the device will take: all, unless it stands
// still.
func Send(p []byte) (n int) {
	for n < len(p) && used > 0 && wait(used-1) {
		i := queue.Index() % used
		part := p[n:min(n+slotBytes, len(p))]
		copyWords(room+uintptr(i)*slotBytes, part)
		queue.SetLength(i, uint32(len(part)))
		queue.Publish(i)
		device.Notify(send)
		n += len(part)
	}
	return n
}

// copyWords copies bytes, eight at a time.
func copyWords(to uintptr, p []byte) {
	for len(p) >= 8 {
		*(*uint64)(arch.Pointer(to)) = *(*uint64)(unsafe.Pointer(unsafe.SliceData(p)))
		to, p = to+8, p[8:]
	}
	for _, b := range p {
		arch.Store8(to, b)
		to++
	}
}

// Flush waits until the device has taken everything.
func Flush() {
	if used > 0 {
		wait(0)
	}
}

// wait waits until the device has at most most buffers, and reports whether it has.
func wait(most uint16) bool {
	looks := patience
	if stalled {
		looks = stalledPatience
	}
	for ; looks > 0; looks-- {
		if queue.Index()-queue.UsedIndex() <= most {
			stalled = false
			return true
		}
		// Reading the status takes a known time, and lets an emulator work.
		if device.Status()&virtio.StatusNeedsReset != 0 {
			break
		}
	}
	stalled = true
	return false
}

package nic

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// virtio-net (Virtual I/O Device 1.2, 5.1). The header of a frame is zeros, but a network stack's
// packets may have another one (checksum.go). Package virtio handles the card's registers.

const (
	queueReceive = 0
	queueSend    = 1

	featureMAC = 5 // by number: the device has a hardware address

	// A device with all of featuresCut cuts packets of TCP into frames (CSUM, HOST_TSO4, HOST_TSO6).
	// One with all of featuresWhole may give us packets that were never cut, and whose checksums are
	// open (GUEST_CSUM, GUEST_TSO4, GUEST_TSO6), in several buffers (MRG_RXBUF). The latter makes
	// the header 12 bytes long on any device, as Post expects it.
	featuresCut   = 1<<0 | 1<<11 | 1<<12 | featureMerge
	featuresWhole = 1<<1 | 1<<7 | 1<<8 | featureMerge
	featureMerge  = 1 << 15

	// Length of the header that goes with each frame.
	headerLegacy = 10
	headerModern = HeaderBytes

	// wantQueue is the number of descriptors of a queue, if the device lets us choose.
	wantQueue = 2 * slots
)

const macBytes = 6

// device is the card, if it is a virtio device. Set once at boot; the panic path also uses it.
var device virtio.Device

// agreed are the device's features that are in use. Set once at boot.
var agreed uint32

// Under the kernel lock; the panic path takes none.
var tx, rx queue

func isVirtio(id uint32) bool { return virtio.IsPCI(id, virtio.TypeNetwork) }

func findVirtio(uint32) bool {
	if !device.FindPCI(&header, macBytes) {
		return false
	}
	if card = virtioModern; device.Legacy() {
		card = virtioLegacy
	}
	return true
}

// findPlaces starts the first card that works of those that are not on PCI.
func findPlaces() {
	for p := (virtio.Places{}); card == none && p.Next(&device, virtio.TypeNetwork); {
		card, where = virtioMMIO, pci.Address(0)
		tryCard(true)
	}
}

// startVirtio resets the device, negotiates features, and hands over the queues.
func startVirtio() bool {
	if !device.Reset(resetPatience) {
		return false
	}
	cut, whole := uint32(0), uint32(0)
	// (A queue with fewer buffers would never have enough for a long packet.)
	if stack && device.QueueSize(queueReceive, wantQueue) >= wantQueue &&
		device.QueueSize(queueSend, wantQueue) >= wantQueue {
		cut, whole = featuresCut, featuresWhole
	}
	ok := false
	if agreed, ok = device.Agree(1<<featureMAC, cut, whole); !ok {
		return false
	}
	readAddress(agreed&(1<<featureMAC) != 0)
	if !wanted(address) || !giveQueues() {
		return false
	}
	device.Ready()
	device.Notify(queueReceive)
	return device.Works()
}

// giveQueues sets up both queues. They get their memory the first time, and must fit it from then
// on.
func giveQueues() bool {
	receive, send := device.QueueSize(queueReceive, wantQueue), device.QueueSize(queueSend, wantQueue)
	if receive < 4 || send < 4 {
		return false
	}
	if memory == 0 {
		if !allocate(memoryBytes(receive) + memoryBytes(send) + arch.PageSize) {
			return false
		}
		rx.Size, tx.Size = receive, send
	}
	if rx.Size != receive || tx.Size != send {
		return false
	}
	length := uint32(headerLegacy)
	if device.Modern() || agreed&featureMerge != 0 {
		length = headerModern
	}
	rx.place(memory, receive, length)
	tx.place(memory+memoryBytes(receive), send, length)
	rx.merged = agreed&featuresWhole == featuresWhole
	rx.makeReceive()
	tx.makeSend(memory + memoryBytes(receive) + memoryBytes(send))
	return device.SetQueue(queueReceive, &rx.Queue, interrupts) &&
		device.SetQueue(queueSend, &tx.Queue, false)
}

// readAddress reads the card's hardware address, or makes one, locally administered, for a
// card that has none.
func readAddress(has bool) {
	if has {
		for i := range address {
			address[i] = device.Config(uint16(i), interrupts)
		}
		return
	}
	if address == [6]byte{} {
		t := arch.ReadCounter()
		address = [6]byte{2, byte(t >> 32), byte(t >> 24), byte(t >> 16), byte(t >> 8), byte(t)}
	}
}

// sendVirtio hands a frame over and waits until the device has taken it.
func sendVirtio(frame uintptr, n int, mine uint32) bool {
	ticket, ok := handOver(frame, n, mine)
	if !ok {
		return false
	}
	device.Notify(queueSend)
	for i := polls(); i > 0 && !disturbed(mine); i-- {
		if tx.done(ticket) {
			stalled = false
			return true
		}
		// Reading the status takes a known time, and lets an emulator work.
		if device.Status()&virtio.StatusNeedsReset != 0 {
			break
		}
	}
	stalled = !disturbed(mine)
	return false
}

// handOver hands a frame over, and leaves it to the caller to notify the device. It waits for the
// device only if there is no room, because earlier frames of the program's have not been taken.
func handOver(frame uintptr, n int, mine uint32) (ticket uint16, ok bool) {
	if !tx.fits(n) {
		device.Notify(queueSend) // who was interrupted may have handed them over and no more
		for i := polls(); !tx.fits(n); i-- {
			if i == 0 || disturbed(mine) || device.Status()&virtio.StatusNeedsReset != 0 {
				stalled = !disturbed(mine)
				return 0, false
			}
		}
		stalled = false
	}
	return tx.put(frame, n, mine)
}

func postVirtio(frame uintptr, n int, mine uint32) bool {
	_, ok := handOver(frame, n, mine)
	if ok && !tx.Watched() {
		device.Notify(queueSend)
	}
	return ok
}

func readableVirtio() bool { return rx.readable() }

func receiveVirtio(buf uintptr, n int, whole bool) (got int, checked bool) {
	got, checked = rx.take(buf, n, whole)
	if !rx.Watched() {
		device.Notify(queueReceive)
	}
	return got, checked
}

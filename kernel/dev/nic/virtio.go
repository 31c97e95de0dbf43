package nic

import "github.com/zeroframe/zeroframe/arch"

// virtio-net (Virtual I/O Device 1.2, 5.1), without any of its offloads: a frame goes
// with a header of zeros. How its registers are reached is in virtioregs.go.

const (
	queueReceive = 0
	queueSend    = 1

	// Status of the device.
	statusAcknowledge = 1
	statusDriver      = 2
	statusDriverOK    = 4
	statusFeaturesOK  = 8
	statusNeedsReset  = 64

	// Features, by number.
	featureMAC      = 5
	featureVersion1 = 32
	featurePlatform = 33 // the device's addresses go through an IOMMU, which nobody has set up

	// Length of the header that goes with each frame.
	headerLegacy = 10
	headerModern = 12

	// wantQueue is how many descriptors a queue gets, if the device lets us choose.
	wantQueue = 2 * slots
)

// Under the kernel lock; the panic path takes none.
var (
	tx, rx queue
	blank  uintptr // a header that says nothing
)

// modern reports whether the device is to be driven as version 1 of the specification says.
func modern() bool { return card == virtioModern || card == virtioMMIO && mmioVersion >= 2 }

// startVirtio resets the device, agrees on features, and hands the queues over.
func startVirtio() bool {
	setStatus(0)
	for i := 0; status() != 0; i++ {
		if i == resetPatience {
			return false
		}
		arch.Pause()
	}
	setStatus(statusAcknowledge)
	setStatus(statusAcknowledge | statusDriver)

	offered := features(0)
	setFeatures(0, offered&(1<<featureMAC))
	if modern() {
		high := features(1)
		setFeatures(1, high&(1<<(featureVersion1-32)|1<<(featurePlatform-32)))
		setStatus(statusAcknowledge | statusDriver | statusFeaturesOK)
		if high&(1<<(featureVersion1-32)) == 0 || status()&statusFeaturesOK == 0 {
			return false
		}
	}
	readAddress(offered&(1<<featureMAC) != 0)
	if !wanted(address) || !giveQueues() {
		return false
	}
	on := uint8(statusAcknowledge | statusDriver | statusDriverOK)
	if modern() {
		on |= statusFeaturesOK
	}
	setStatus(on)
	notify(queueReceive)
	return status()&(statusDriverOK|statusNeedsReset) == statusDriverOK
}

// giveQueues sets both queues up. They get their memory the first time, and must fit it
// from then on.
func giveQueues() bool {
	receive, send := queueSize(queueReceive), queueSize(queueSend)
	if receive < 4 || send < 4 {
		return false
	}
	if memory == 0 {
		if !allocate(memoryBytes(receive) + memoryBytes(send) + arch.PageSize) {
			return false
		}
		length := uint32(headerLegacy)
		if modern() {
			length = headerModern
		}
		rx.place(memory, receive, length)
		tx.place(memory+memoryBytes(receive), send, length)
		blank = memory + memoryBytes(receive) + memoryBytes(send)
	}
	if rx.size != receive || tx.size != send {
		return false
	}
	rx.makeReceive()
	tx.makeSend(blank)
	return setQueue(queueReceive, &rx) && setQueue(queueSend, &tx)
}

// queueSize returns how many descriptors a queue is to have, 0 if the device has not the
// queue, or wants more than there is memory for.
func queueSize(i uint16) uint16 {
	most := maxQueueSize(i)
	if card == virtioLegacy {
		if most > maxQueue || most&(most-1) != 0 {
			return 0
		}
		return uint16(most)
	}
	size := uint16(wantQueue)
	for uint32(size) > most {
		size /= 2
	}
	return size
}

// readAddress reads the card's hardware address, or makes one, locally administered, for a
// card that has none.
func readAddress(has bool) {
	if has {
		for i := range address {
			address[i] = deviceByte(uint8(i))
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
	ticket, ok := tx.put(frame, n, mine)
	if !ok {
		return false
	}
	notify(queueSend)
	for i := polls(); i > 0 && !disturbed(mine); i-- {
		if tx.done(ticket) {
			stalled = false
			return true
		}
		// A look at the device takes a known time, and lets an emulator work.
		if status()&statusNeedsReset != 0 {
			break
		}
	}
	stalled = !disturbed(mine)
	return false
}

func readableVirtio() bool { return rx.readable() }

func receiveVirtio(buf uintptr, n int) int {
	got := rx.take(buf, n)
	notify(queueReceive)
	return got
}

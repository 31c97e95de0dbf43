package nic

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// The queues of a virtio card. Each frame takes two descriptors, one for its header, because some
// older devices insist on that. A long packet that is sent takes several buffers that are next to
// each other, as one. A received one is in several that the device chooses; it has used all of them
// before it says so of the first (Virtual I/O Device 1.2, 5.1.6.4.1).
//
// Storing an index publishes what the device may use. A Send that is interrupted before that has
// not happened, and the next frame takes its place; one that is interrupted after it has handed the
// frame over. So nothing needs repair when the crash that is to be reported interrupted a Send.

// maxPieces is how many buffers the longest packet may be in.
const maxPieces = (HeaderBytes + MaxWhole + bufferSize - 1) / bufferSize

// queue is a virtqueue with buffers of ours.
type queue struct {
	virtio.Queue
	slots   uint16 // buffers
	buffers uintptr
	header  uint32  // length of the header that goes with each frame
	blank   uintptr // a header that says nothing
	merged  bool    // what is received may be in several buffers, and its header counts
	seen    uint16  // number of used ones that were taken
	// How many buffers had been sent, modulo 65536, when the queue's index was i: ends[i%len(ends)].
	ends [2 * slots]uint16
}

// place gives a queue of size descriptors its memory, at a page's address; the buffers
// follow the rings.
func (q *queue) place(memory uintptr, size uint16, header uint32) {
	q.Place(memory, size)
	q.slots, q.header = min(slots, size/2), header
	q.buffers = memory + virtio.QueueBytes(size)
}

// memoryBytes returns the amount of memory that place needs.
func memoryBytes(size uint16) uintptr { return virtio.QueueBytes(size) + slots*bufferSize }

func (q *queue) buffer(slot uint16) uintptr { return q.buffers + uintptr(slot)*bufferSize }

// clear empties the queue.
func (q *queue) clear() {
	q.Clear()
	q.seen, q.ends[0] = 0, 0
}

// makeSend sets up a send queue. header is the address of a header of zeros, which all frames
// share.
func (q *queue) makeSend(header uintptr) {
	q.clear()
	q.blank = header
	q.Silence(true)
}

// makeReceive sets up the descriptors of a receive queue, and hands all of them over.
func (q *queue) makeReceive() {
	q.clear()
	for i := uint16(0); i < q.slots; i++ {
		at := q.buffer(i)
		q.Describe(2*i, at, q.header, virtio.DescNext|virtio.DescWrite, 2*i+1)
		q.Describe(2*i+1, at+uintptr(q.header), bufferSize-q.header, virtio.DescWrite, 0)
		q.Publish(2 * i)
	}
}

// put hands over a frame of n bytes, unless another one was sent meanwhile. ok is false if it did
// not, because the device has not taken the earlier frames, or the frame cannot be read. The frame
// is gone when done(ticket).
func (q *queue) put(frame uintptr, n int, mine uint32) (ticket uint16, ok bool) {
	at, end := q.span(n)
	if !q.fits(n) {
		return 0, false
	}
	slot := at % q.slots
	head, data := q.blank, q.buffer(slot)
	length, ok := fill(data, frame, n)
	if !ok || disturbed(mine) {
		return 0, false
	}
	if n > MaxFrame {
		head, data, length = data, data+uintptr(q.header), length-int(q.header)
	}
	q.Describe(2*slot, head, q.header, virtio.DescNext, 2*slot+1)
	q.Describe(2*slot+1, data, uint32(length), 0, 0)
	q.ends[(q.Index()+1)%uint16(len(q.ends))] = end
	return q.Publish(2 * slot), true
}

// span returns which buffers a next frame of n bytes gets, as numbers that go on after the last
// buffer. Those of a long one skip the end of the memory if they do not fit there.
func (q *queue) span(n int) (begin, end uint16) {
	begin = q.ends[q.Index()%uint16(len(q.ends))]
	length := uint16((n + bufferSize - 1) / bufferSize)
	if left := q.slots - begin%q.slots; length > left {
		begin += left
	}
	return begin, begin + length
}

// fits reports whether the device has left enough buffers for a frame of n bytes.
func (q *queue) fits(n int) bool {
	_, end := q.span(n)
	return end-q.ends[q.UsedIndex()%uint16(len(q.ends))] <= q.slots
}

func (q *queue) done(ticket uint16) bool { return int16(q.UsedIndex()-ticket) >= 0 }

// readable reports whether a frame was received.
func (q *queue) readable() bool { return q.slots > 0 && q.UsedIndex() != q.seen }

// piece returns where the next used buffer is, and how many bytes are in it; none if it is not one
// of ours.
func (q *queue) piece() (at uintptr, n int) {
	id, got := q.Used(q.seen)
	if !q.owns(id) || got > bufferSize {
		return 0, 0
	}
	return q.buffer(uint16(id / 2)), int(got)
}

// owns reports whether a chain of that number is a buffer.
func (q *queue) owns(id uint32) bool { return id < 2*uint32(q.slots) && id%2 == 0 }

// giveBack returns the next used buffer to the device.
func (q *queue) giveBack() {
	id, _ := q.Used(q.seen)
	q.seen++
	if q.owns(id) {
		q.Publish(uint16(id))
	}
}

// take copies the next received packet to buf, gives its buffers back to the device, and returns
// its length, or 0 if it makes no sense. A frame of more than n bytes is cut, and a packet in
// several buffers is lost; with whole, neither happens, but a packet for which n may be too small
// stays in the queue, and take returns -1. checked reports whether the device says that the bytes
// are right; the checksum of a packet in several buffers may be open all the same.
func (q *queue) take(buf uintptr, n int, whole bool) (length int, checked bool) {
	at, got := q.piece()
	head, pieces := int(q.header), uint16(1)
	need := got - head
	if q.merged && need > 0 {
		if pieces = max(1, min(arch.Load16(at+headerPieces), q.UsedIndex()-q.seen)); pieces > 1 {
			need = int(pieces) * bufferSize
		}
	}
	switch {
	case pieces > 1 && !whole, pieces > maxPieces:
		n = 0
	case whole && need > n:
		return -1, false
	case q.merged && need > 0:
		checked = complete(at, at+uintptr(head), need, pieces == 1)
	}
	for range pieces {
		length += copyOut(buf+uintptr(length), n-length, at+uintptr(head), got-head)
		q.giveBack()
		at, got = q.piece()
		head = 0
	}
	return length, checked
}

package nic

import (
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
)

// The queues of a virtio card. Each frame takes two descriptors, one for its header, because some
// older devices insist on that.
//
// Storing an index publishes what the device may use. A Send that is interrupted before that has
// not happened, and the next frame takes its place; one that is interrupted after it has handed the
// frame over. So nothing needs repair when the crash that is to be reported interrupted a Send.

// dataOffset is the offset of a frame in a receive buffer, after the header.
const dataOffset = 16

// queue is a virtqueue with buffers of ours.
type queue struct {
	virtio.Queue
	slots   uint16 // buffers
	buffers uintptr
	header  uint32 // length of the header that goes with each frame
	seen    uint16 // number of used ones that were taken
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
	q.seen = 0
}

// makeSend sets up the descriptors of a send queue. header is the address of a header of zeros,
// which all frames share.
func (q *queue) makeSend(header uintptr) {
	q.clear()
	for i := uint16(0); i < q.slots; i++ {
		q.Describe(2*i, header, q.header, virtio.DescNext, 2*i+1)
		q.Describe(2*i+1, q.buffer(i), 0, 0, 0)
	}
	q.Silence(true)
}

// makeReceive sets up the descriptors of a receive queue, and hands all of them over.
func (q *queue) makeReceive() {
	q.clear()
	for i := uint16(0); i < q.slots; i++ {
		q.Describe(2*i, q.buffer(i), q.header, virtio.DescNext|virtio.DescWrite, 2*i+1)
		q.Describe(2*i+1, q.buffer(i)+dataOffset, bufferSize-dataOffset, virtio.DescWrite, 0)
		q.Publish(2 * i)
	}
}

// put hands over a frame of n bytes, unless another one was sent meanwhile. ok is false if it did
// not, because the device has not taken the earlier frames, or the frame cannot be read. The frame
// is gone when done(ticket).
func (q *queue) put(frame uintptr, n int, mine uint32) (ticket uint16, ok bool) {
	if q.full() {
		return 0, false
	}
	slot := q.Index() % q.slots
	length, ok := fill(q.buffer(slot), frame, n)
	if !ok || disturbed(mine) {
		return 0, false
	}
	q.SetLength(2*slot+1, uint32(length))
	return q.Publish(2 * slot), true
}

// full reports whether the device has all buffers.
func (q *queue) full() bool { return q.Index()-q.UsedIndex() >= q.slots }

func (q *queue) done(ticket uint16) bool { return int16(q.UsedIndex()-ticket) >= 0 }

// readable reports whether a frame was received.
func (q *queue) readable() bool { return q.slots > 0 && q.UsedIndex() != q.seen }

// take copies the next received frame to buf, n bytes at most, returns its buffer to the device,
// and returns the frame's length; 0 if there is none that makes sense.
func (q *queue) take(buf uintptr, n int) int {
	id, got := q.Used(q.seen)
	q.seen++
	if id >= 2*uint32(q.slots) || id%2 != 0 {
		return 0 // not one of ours, so there is nothing to return
	}
	length := 0
	if got > q.header && got-q.header <= bufferSize-dataOffset {
		length = copyOut(buf, n, q.buffer(uint16(id/2))+dataOffset, int(got-q.header))
	}
	q.Publish(uint16(id))
	return length
}

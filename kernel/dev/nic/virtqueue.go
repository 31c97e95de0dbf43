package nic

import "github.com/zeroframe/zeroframe/arch"

// A virtqueue (Virtual I/O Device 1.2, 2.7, "split virtqueues"): a table of descriptors,
// a ring of those that the device may have, and one of those that it has used, in memory
// of ours in the layout that older devices want. Each frame takes two descriptors, one for
// the header that the device puts before it: some older devices insist on that.
//
// What the device may have is published by one store of an index. Whatever is interrupted
// before it has never been, and the next frame takes the same place; whatever is
// interrupted behind it has been handed over. So there is nothing to repair when a Send
// was cut off by the crash that is now to be told.

const (
	slots      = 16   // buffers a queue
	bufferSize = 2048 // bytes

	descSize    = 16
	descNext    = 1 // the descriptor goes on in another
	descWrite   = 2 // the device writes
	noInterrupt = 1 // of the first ring's flags

	maxQueue = 1024 // descriptors; older devices tell how many there must be
	// dataOffset is where a frame begins in a buffer to receive in, behind the header.
	dataOffset = 16
)

// queue is a virtqueue. Addresses are of our memory.
type queue struct {
	size    uint16 // descriptors
	slots   uint16 // buffers
	desc    uintptr
	avail   uintptr // flags, index, ring of descriptors; 2 bytes each
	used    uintptr // flags, index, 2 bytes each; ring of descriptor and length, 4 bytes each
	buffers uintptr
	header  uint32 // length of the header that goes with each frame
	seen    uint16 // how many used ones have been taken
}

// queueBytes returns how much memory the rings of a queue of size descriptors take, and
// where the second ring begins in it.
func queueBytes(size uint16) (bytes, used uintptr) {
	const align = arch.PageSize
	n := uintptr(size)
	used = (descSize*n + 4 + 2*n + 2 + align - 1) &^ (align - 1)
	return (used + 4 + 8*n + 2 + align - 1) &^ (align - 1), used
}

// place gives a queue of size descriptors its memory, at a page's address; the buffers
// follow the rings.
func (q *queue) place(memory uintptr, size uint16, header uint32) {
	bytes, used := queueBytes(size)
	q.size, q.slots, q.header = size, min(slots, size/2), header
	q.desc, q.avail, q.used = memory, memory+descSize*uintptr(size), memory+used
	q.buffers = memory + bytes
}

// memoryBytes returns how much memory place takes.
func memoryBytes(size uint16) uintptr {
	bytes, _ := queueBytes(size)
	return bytes + slots*bufferSize
}

func (q *queue) buffer(slot uint16) uintptr { return q.buffers + uintptr(slot)*bufferSize }

func (q *queue) describe(i uint16, addr uintptr, n uint32, flags, next uint16) {
	d := q.desc + descSize*uintptr(i)
	arch.Store32(d, uint32(addr))
	arch.Store32(d+4, uint32(uint64(addr)>>32))
	arch.Store32(d+8, n)
	arch.Store16(d+12, flags)
	arch.Store16(d+14, next)
}

// clear empties the queue.
func (q *queue) clear() {
	for p := q.desc; p < q.buffers; p += 4 {
		arch.Store32(p, 0)
	}
	q.seen = 0
}

// makeSend sets up the descriptors of a queue whose frames go out. header is the address
// of a header that says nothing, which all share.
func (q *queue) makeSend(header uintptr) {
	q.clear()
	for i := uint16(0); i < q.slots; i++ {
		q.describe(2*i, header, q.header, descNext, 2*i+1)
		q.describe(2*i+1, q.buffer(i), 0, 0, 0)
	}
	arch.Store16(q.avail, noInterrupt)
}

// makeReceive sets up the descriptors of a queue in which frames come in, and hands all of
// them over.
func (q *queue) makeReceive() {
	q.clear()
	for i := uint16(0); i < q.slots; i++ {
		q.describe(2*i, q.buffer(i), q.header, descNext|descWrite, 2*i+1)
		q.describe(2*i+1, q.buffer(i)+dataOffset, bufferSize-dataOffset, descWrite, 0)
		q.publish(2 * i)
	}
}

func (q *queue) index() uint16     { return arch.Load16(q.avail + 2) }
func (q *queue) usedIndex() uint16 { return arch.Load16(q.used + 2) }

// publish hands the descriptor over to the device, and returns how many it has been given.
func (q *queue) publish(desc uint16) uint16 {
	i := q.index()
	arch.Store16(q.avail+4+2*uintptr(i%q.size), desc)
	arch.Store16(q.avail+2, i+1)
	return i + 1
}

// put hands over a frame of n bytes, unless another one was sent meanwhile. ok is false if
// it was not, since the device has not taken those before it, or the frame cannot be read.
// The frame is gone when done(ticket).
func (q *queue) put(frame uintptr, n int, mine uint32) (ticket uint16, ok bool) {
	i := q.index()
	if i-q.usedIndex() >= q.slots {
		return 0, false
	}
	slot := i % q.slots
	length, ok := fill(q.buffer(slot), frame, n)
	if !ok || disturbed(mine) {
		return 0, false
	}
	arch.Store32(q.desc+descSize*uintptr(2*slot+1)+8, uint32(length))
	return q.publish(2 * slot), true
}

func (q *queue) done(ticket uint16) bool { return int16(q.usedIndex()-ticket) >= 0 }

// readable reports whether a frame has come in.
func (q *queue) readable() bool { return q.slots > 0 && q.usedIndex() != q.seen }

// take copies the next frame that has come in to buf, n bytes at most, gives its buffer
// back to the device, and returns the frame's length; 0 if there is none that makes sense.
func (q *queue) take(buf uintptr, n int) int {
	e := q.used + 4 + 8*uintptr(q.seen%q.size)
	q.seen++
	id, got := arch.Load32(e), arch.Load32(e+4)
	if id >= 2*uint32(q.slots) || id%2 != 0 {
		return 0 // not one of ours, so there is nothing to give back
	}
	length := 0
	if got > q.header && got-q.header <= bufferSize-dataOffset {
		length = copyOut(buf, n, q.buffer(uint16(id/2))+dataOffset, int(got-q.header))
	}
	q.publish(uint16(id))
	return length
}

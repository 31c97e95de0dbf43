package share

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// One virtio-9p device (Virtual I/O Device 1.2, 5.12 is reserved for it; Linux:
// net/9p/trans_virtio.c): a queue of chains of two descriptors, the request and the room for the
// answer, and a tag that is the host's name for it.

const (
	featureTag    = 0 // by number: the device has a tag
	queueLength   = 4
	questionBytes = 2 * arch.PageSize // the longest is a walk: 16 names of 255 bytes
	answerBytes   = 128 << 10
	maxTag        = 32
	resetPatience = 200_000
)

// device is a virtio-9p device and its one message under way.
type device struct {
	virtio.Device
	queue            virtio.Queue
	question, answer uintptr // memory
	interrupts       bool    // it can
	tag              [maxTag]byte
	tagLength        uint8
	asked            uint16
}

// start starts the device.
func (d *device) start() bool {
	if !d.Reset(resetPatience) {
		return false
	}
	offered, ok := d.Agree(1 << featureTag)
	if !ok || offered&(1<<featureTag) == 0 {
		return false
	}
	n := int(d.Config(0, false)) | int(d.Config(1, false))<<8
	if n == 0 || n > maxTag {
		return false
	}
	for i := range n {
		d.tag[i] = d.Config(uint16(2+i), false)
	}
	d.tagLength = uint8(n)
	size := d.QueueSize(0, queueLength)
	if size < 3 {
		return false
	}
	rings := virtio.QueueBytes(size)
	memory := mem.Contiguous(rings + questionBytes + answerBytes)
	if memory == 0 {
		return false
	}
	d.queue.Place(memory, size)
	d.question, d.answer = memory+rings, memory+rings+questionBytes
	d.queue.Clear()
	d.queue.Silence(true)
	if !d.SetQueue(0, &d.queue, d.interrupts) {
		return false
	}
	d.Ready()
	return d.Works()
}

// ask hands the request of n bytes over, followed by more bytes at stageOffset.
func (d *device) ask(n, more int) {
	if more == 0 {
		d.queue.Describe(0, d.question, uint32(n), virtio.DescNext, 1)
		d.queue.Describe(1, d.answer, answerBytes, virtio.DescWrite, 0)
	} else {
		d.queue.Describe(0, d.question, uint32(n), virtio.DescNext, 2)
		d.queue.Describe(2, d.answer+stageOffset, uint32(more), virtio.DescNext, 1)
		d.queue.Describe(1, d.answer, stageOffset, virtio.DescWrite, 0)
	}
	d.asked = d.queue.Publish(0)
	d.Notify(0)
}

// broken reports whether the device says that it no longer works. Reading that takes a known time.
func (d *device) broken() bool { return d.Status()&virtio.StatusNeedsReset != 0 }

// answered reports whether the answer has arrived.
func (d *device) answered() bool { return d.queue.UsedIndex() == d.asked }

// take returns the length of the answer: the device's number, limited to what is possible.
func (d *device) take() int {
	_, n := d.queue.Used(d.asked - 1)
	return int(min(n, answerBytes))
}

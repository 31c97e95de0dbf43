package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// /dev/nic0, the network card: each read returns one frame, each write sends one, and each part of
// a writev. The call CardFrames of ioctl takes several. A program can wait for the card as for a
// terminal. Several open files take frames from each other.

// DevNIC is the device's number: a major that Linux keeps for local use.
const DevNIC = 240 << 8

// CardFrames is a call of ioctl, in Linux's range for a device's own (SIOCDEVPRIVATE). It takes the
// address of a [CardBatch], and returns how many of its elements it has filled in. It never waits.
const CardFrames = 0x89f0

// CardFrame is a frame that has come. A packet that was never cut into frames ([nic.ReceiveWhole])
// is longer, and goes on in the memory of the next ones of its batch.
type CardFrame struct {
	CardHead
	Data [nic.MaxFrame]byte
}

// CardHead describes a frame.
type CardHead struct {
	Length  uint32 // bytes
	Checked bool   // the card says that they are right; no checksum needs to be looked at
}

// Bytes returns the frame.
func (f *CardFrame) Bytes() []byte { return unsafe.Slice(&f.Data[0], f.Length) }

// Span returns how many elements of a batch the frame takes.
func (h CardHead) Span() int {
	const each = unsafe.Sizeof(CardFrame{})
	return int((unsafe.Sizeof(h) + uintptr(h.Length) + each - 1) / each)
}

// CardBatch is as many frames as one call takes.
type CardBatch [64]CardFrame

// cardPoll is how often, in ns, a card without interrupts is polled.
const cardPoll = 2_000_000

// Under the kernel lock.
var (
	cardFiles    int32 // open files of the card
	cardReported bool  // whoever waits for the card has been told of the frame that is there
)

// cardOpened counts an open file of the card. The first one does not get earlier frames, which may
// be old.
func cardOpened() {
	percpu.AssertLocked()
	for cardFiles == 0 && nic.Receive(blockAddr(), len(block)) > 0 {
	}
	cardFiles++
	cardReported = false
	if !nic.Interrupts() {
		thread.Nudge()
	}
}

func closeCard(*file) { cardFiles-- }

// Frames wakes whoever waits for the card, if it has a frame. It is called in the card's interrupt.
// Kernel context.
func Frames() {
	percpu.AssertLocked()
	nic.Acknowledge()
	if cardReported || !nic.Readable() {
		return
	}
	cardReported = true
	changedAll(1<<cardDevice, anyObj)
}

// pollCard looks for frames on a card without interrupts, and returns when to call it next.
func pollCard(now uint64) (next uint64) {
	if cardFiles == 0 || nic.Interrupts() {
		return never
	}
	Frames()
	return now + cardPoll
}

func readCard(c *call, f *file, to, n uintptr) int64 {
	if n == 0 {
		return 0
	}
	got := nic.Receive(blockAddr(), int(min(n, uintptr(len(block)))))
	if got == 0 {
		cardReported = false
		return c.waitFor(f)
	}
	if !copyOut(to, blockAddr(), uintptr(got)) {
		return -eFAULT
	}
	traffic.inFrames++
	traffic.inBytes += uint64(got)
	return int64(got)
}

// takeFrames is CardFrames.
func takeFrames(to uintptr) int64 {
	percpu.AssertLocked()
	activity++
	if !mem.Allowed(to, unsafe.Sizeof(CardBatch{}), true) {
		return -eFAULT
	}
	n := 0
	for n < len(CardBatch{}) {
		at := to + uintptr(n)*unsafe.Sizeof(CardFrame{})
		room := to + unsafe.Sizeof(CardBatch{}) - at - unsafe.Sizeof(CardHead{})
		got, checked := nic.ReceiveWhole(at+unsafe.Sizeof(CardHead{}), int(room))
		if got <= 0 {
			cardReported = got < 0
			break
		}
		head := CardHead{uint32(got), checked}
		arch.CopyUser(at, addressOf(&head), unsafe.Sizeof(head))
		n += head.Span()
		traffic.inFrames++
		traffic.inBytes += uint64(got)
	}
	return int64(n)
}

// writeCard sends a frame. If the card does not accept it, the card is restarted, once.
func writeCard(_ *call, _ *file, from, n uintptr) int64 {
	const ethernetHeader = 14
	switch {
	case n < ethernetHeader:
		return -eINVAL
	case n > uintptr(nic.Longest()):
		return -eMSGSIZE
	case !mem.Allowed(from, n, false):
		return -eFAULT
	}
	if !nic.Post(from, int(n)) && !(nic.Restart() && nic.Post(from, int(n))) {
		return -eIO
	}
	traffic.outFrames++
	traffic.outBytes += uint64(n)
	return int64(n)
}

package nic

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/pci"
)

// MaxFrame is the length of the longest frame in bytes, without its checksum: 1500
// bytes behind an Ethernet header and a VLAN tag.
const MaxFrame = 1518

// minFrame is what shorter frames are padded to.
const minFrame = 60

// driver says which of the drivers has the card.
type driver uint8

const (
	none driver = iota
	virtioModern
	virtioLegacy
	virtioMMIO
	e1000
	e1000e
)

var names = [...]string{
	none:         "",
	virtioModern: "virtio-net (PCI, modern)",
	virtioLegacy: "virtio-net (PCI, legacy)",
	virtioMMIO:   "virtio-net (memory-mapped)",
	e1000:        "e1000",
	e1000e:       "e1000e",
}

var (
	card    driver
	where   pci.Address // of a card on PCI; 0, where the host bridge is, for others
	address [6]byte
	memory  uintptr // what the card reads and writes
	sends   uint32  // attempts to send
)

// want is the hardware address of the card to be used; 0: that of any.
var want [6]byte

// Want says which card [Init] shall use, by its hardware address; 0 stands for any. Early
// context.
func Want(a [6]byte) { want = a }

// wanted reports whether the card with that hardware address is the one to be used. A driver
// asks before it gives the card memory, which another one may get.
func wanted(a [6]byte) bool { return want == [6]byte{} || a == want }

// Init looks for a card that a driver knows and starts it: on PCI first, then where AddPlace
// has said, or on a machine without PCI where QEMU's microvm has its devices. Early context,
// once, when the page tables are up and before mm.Release.
func Init() {
	havePCI := pci.Present()
	if havePCI {
		findPCI()
	}
	if card == none {
		findMMIO(havePCI)
	}
}

// findPCI starts the first card on PCI that works. Large machines have root buses that only
// ACPI's tables name: when nothing else is left, all buses are asked.
func findPCI() {
	findOn(pci.Scan{})
	if card == none {
		findOn(pci.AllBuses())
	}
}

// findOn starts the first card that works of those that the scan finds.
func findOn(all pci.Scan) {
	// Where a hypervisor offers several, virtio is the faster one.
	s := all
	for a, id, ok := s.Next(); ok && card == none; a, id, ok = s.Next() {
		if isVirtio(id) {
			probe(a, id)
		}
	}
	s = all
	for a, id, ok := s.Next(); ok && card == none; a, id, ok = s.Next() {
		if e1000Kind(id) != none {
			probe(a, id)
		}
	}
}

// header is the configuration space of the function that is looked at.
var header pci.Header

// probe starts the card at a, if it works.
func probe(a pci.Address, id uint32) {
	a.Read(&header)
	where = a
	ok := false
	if isVirtio(id) {
		ok = findVirtio(&header)
	} else {
		ok = findE1000(&header, e1000Kind(id))
	}
	if !ok || !start() {
		card, address = none, [6]byte{}
	}
}

// start brings the card up, from whatever state it is in.
func start() bool {
	if card == none {
		return false
	}
	if where != 0 {
		where.Enable()
	}
	if card == e1000 || card == e1000e {
		return startE1000()
	}
	return startVirtio()
}

// Up reports whether there is a card. Any context.
func Up() bool { return card != none }

// Address returns the card's hardware address, all 0 if there is no card. Any context.
func Address() [6]byte { return address }

// Name returns the name of the card's driver, or "". Any context.
func Name() string { return names[card] }

// Send sends the frame of n bytes at address frame, from the destination's address to
// the end of the data, and returns when the card has taken it; a short one is padded.
// It returns false if there is no card, the length is wrong, the frame cannot be read, or
// the card has not taken it in a second or more; after that it waits less, until a frame is
// taken. It needs nothing of the runtime, allocates nothing, and may begin anew while
// another Send is interrupted; when that one goes on, it sends its frame once more. Any
// context, interrupts off.
func Send(frame uintptr, n int) bool {
	if card == none || n <= 0 || n > MaxFrame {
		return false
	}
	ok := false
	for try := 0; try < 3; try++ {
		sends++
		mine := sends
		if card == e1000 || card == e1000e {
			ok = sendE1000(frame, n, mine)
		} else {
			ok = sendVirtio(frame, n, mine)
		}
		if !disturbed(mine) {
			break
		}
	}
	return ok
}

// disturbed reports whether Send or Restart has been called, by who has interrupted it,
// since a Send was given its number: then nothing is known of its frame.
func disturbed(mine uint32) bool {
	// (A plain read could be moved out of a loop: here nothing changes it.)
	return amd64.Load32(uintptr(unsafe.Pointer(&sends))) != mine
}

// Readable reports whether a frame has come. Kernel context.
func Readable() bool {
	switch card {
	case none:
		return false
	case e1000, e1000e:
		return readableE1000()
	}
	return rx.readable()
}

// Receive copies a frame that has come to buf, which has room for n bytes, and returns
// its length in bytes, 0 if none has come. What does not fit is cut off. Early and
// kernel context.
func Receive(buf uintptr, n int) int {
	for i := 0; i < slots && Readable(); i++ {
		got := 0
		if card == e1000 || card == e1000e {
			got = receiveE1000(buf, n)
		} else {
			got = receiveVirtio(buf, n)
		}
		if got > 0 {
			return got
		}
	}
	return 0
}

// Restart brings the card up anew, with its rings empty, and reports whether it
// answers: for a Send that has failed, in the panic path. Any context, interrupts off.
func Restart() bool {
	sends++
	stalled = false
	return start()
}

// How often a register of the card is read before a frame is given up, a second or more on
// any machine: an emulator's card stands still for as long as its host is busy; and before
// a reset, a tenth of a second or more. Variables for the tests, whose cards are threads.
var (
	patience      = 2_000_000
	resetPatience = 200_000
)

// stalledPatience is patience with a card that has stood still once.
const stalledPatience = 1_000

var stalled bool // the last frame was given up

// polls returns how often to look whether the card has taken a frame.
func polls() int {
	if stalled {
		return stalledPatience
	}
	return patience
}

// fill copies a frame into a buffer, padded, and returns its length there; ok is false if
// it cannot be read.
func fill(buffer, frame uintptr, n int) (length int, ok bool) {
	if n < minFrame {
		amd64.FillUser(buffer, minFrame, 0)
	}
	return max(n, minFrame), amd64.CopyUser(buffer, frame, uintptr(n)) == 0
}

// copyOut copies a received frame of got bytes to buf, which has room for n, and returns
// how many bytes were copied.
func copyOut(buf uintptr, n int, from uintptr, got int) int {
	if n <= 0 {
		return 0
	}
	part := uintptr(min(n, got))
	return int(part - amd64.CopyUser(buf, from, part))
}

// allocate takes memory for the card to read and write, once: if it fails later on, a
// second card does not get any.
func allocate(bytes uintptr) bool {
	memory = mm.Contiguous(bytes)
	return memory != 0
}

package nic

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// MaxFrame is the length of the longest frame in bytes, without its checksum: 1500
// bytes behind an Ethernet header and a VLAN tag.
const MaxFrame = 1518

// minFrame is what shorter frames are padded to.
const minFrame = 60

// Of all drivers.
const (
	slots      = 16   // buffers a queue
	bufferSize = 2048 // bytes
)

// Families are the cards that there are drivers for, as messages name them.
const Families = "virtio-net, e1000, e1000e"

// driver says which row of drivers has the card.
type driver uint8

const (
	none driver = iota
	virtioModern
	virtioLegacy
	virtioMMIO
	e1000
	e1000e
)

// drivers is the table of the drivers. Never written.
var drivers = [...]struct {
	name     string
	start    func() bool                                  // brings the card up, from whatever state it is in
	send     func(frame uintptr, n int, mine uint32) bool // hands a frame over and waits until it is taken
	readable func() bool                                  // reports whether a frame has come
	receive  func(buf uintptr, n int) int                 // copies it, and returns its length
	route    func() bool                                  // has the card interrupt by a message; nil: it cannot
	seen     func()                                       // tells the card that its interrupt has been seen; nil: it need not know
}{
	virtioModern: {"virtio-net (PCI, modern)", startVirtio, sendVirtio, readableVirtio, receiveVirtio, routeMSIX, nil},
	virtioLegacy: {"virtio-net (PCI, legacy)", startVirtio, sendVirtio, readableVirtio, receiveVirtio, routeMSIX, nil},
	virtioMMIO:   {"virtio-net (memory-mapped)", startVirtio, sendVirtio, readableVirtio, receiveVirtio, nil, nil},
	e1000:        {"e1000", startE1000, sendE1000, readableE1000, receiveE1000, nil, nil},
	e1000e:       {"e1000e", startE1000, sendE1000, readableE1000, receiveE1000, routeMSI, seenE1000},
}

// onPCI are the families of cards on PCI, in the order in which they are looked for: where a
// hypervisor offers several, virtio is the faster one. known reports whether a function's ID is of
// the family; find finds the registers of the one that header describes, and sets card.
// Never written.
var onPCI = [...]struct {
	known func(id uint32) bool
	find  func(id uint32) bool
}{
	{isVirtio, findVirtio},
	{isE1000, findE1000},
}

var (
	card    driver      // set once at boot
	where   pci.Address // of a card on PCI; 0, where the host bridge is, for others; set once at boot
	address [6]byte     // set once at boot
	memory  uintptr     // what the card reads and writes; set once at boot
	sends   uint32      // attempts to send; under the kernel lock
)

// want is the hardware address of the card to be used; 0: that of any. Set once at boot.
var want [6]byte

// Want says which card [Init] shall use, by its hardware address; 0 stands for any. Early
// context.
func Want(a [6]byte) { want = a }

// wanted reports whether the card with that hardware address is the one to be used. A driver
// asks before it gives the card memory, which another one may get.
func wanted(a [6]byte) bool { return want == [6]byte{} || a == want }

// Init looks for a card that a driver knows and starts it: on PCI first, then where virtio.AddPlace
// has said, or on a machine without PCI where QEMU's microvm has its devices. Early context,
// once, when the page tables are up and before mem.Release.
func Init() {
	if arch.HasPCI() {
		findPCI()
	}
	if card == none {
		findPlaces()
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
	for i := range onPCI {
		s := all
		for a, id, ok := s.Next(); ok && card == none; a, id, ok = s.Next() {
			if !onPCI[i].known(id) {
				continue
			}
			a.Read(&header)
			where = a
			tryCard(onPCI[i].find(id))
		}
	}
}

// header is the configuration space of the function that is looked at. Under the kernel lock.
var header pci.Header

// tryCard starts the card whose registers have been found, and gives it up if it does not work.
func tryCard(found bool) {
	if !found || !start() {
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
	return drivers[card].start()
}

// Up reports whether there is a card. Any context.
func Up() bool { return card != none }

// Address returns the card's hardware address, all 0 if there is no card. Any context.
func Address() [6]byte { return address }

// Name returns the name of the card's driver, or "". Any context.
func Name() string { return drivers[card].name }

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
		ok = drivers[card].send(frame, n, mine)
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
	return arch.Load32(uintptr(unsafe.Pointer(&sends))) != mine
}

// Readable reports whether a frame has come. Kernel context.
func Readable() bool { return card != none && drivers[card].readable() }

// Receive copies a frame that has come to buf, which has room for n bytes, and returns
// its length in bytes, 0 if none has come. What does not fit is cut off. Early and
// kernel context.
func Receive(buf uintptr, n int) int {
	for i := 0; i < slots && Readable(); i++ {
		if got := drivers[card].receive(buf, n); got > 0 {
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
// a reset, a tenth of a second or more, and once more until the card has loaded its address. Variables
// for the tests, whose cards are threads. Never written.
var (
	patience      = 2_000_000
	resetPatience = 200_000
	loadPatience  = 200_000
)

// stalledPatience is patience with a card that has stood still once.
const stalledPatience = 1_000

var stalled bool // the last frame was given up; under the kernel lock; the panic path takes none

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
		arch.FillUser(buffer, minFrame, 0)
	}
	return max(n, minFrame), arch.CopyUser(buffer, frame, uintptr(n)) == 0
}

// copyOut copies a received frame of got bytes to buf, which has room for n, and returns
// how many bytes were copied.
func copyOut(buf uintptr, n int, from uintptr, got int) int {
	if n <= 0 {
		return 0
	}
	part := uintptr(min(n, got))
	return int(part - arch.CopyUser(buf, from, part))
}

// allocate takes memory for the card to read and write, once: if it fails later on, a
// second card does not get any.
func allocate(bytes uintptr) bool {
	memory = mem.Contiguous(bytes)
	return memory != 0
}

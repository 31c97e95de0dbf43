package nic

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// MaxFrame is the length of the longest frame in bytes, without its checksum: 1500 bytes after an
// Ethernet header and a VLAN tag.
const MaxFrame = 1518

// MaxWhole is the length in bytes of the longest packet that is received without having been cut
// into frames, and maxCut that of the longest one that is sent so, with its header. Half of the
// buffers always fit somewhere.
const (
	MaxWhole = MaxFrame - 1500 + 1<<16 - 1
	maxCut   = slots * bufferSize / 2
)

// minFrame is what shorter frames are padded to.
const minFrame = 60

// Common to all drivers.
const (
	slots      = 64   // buffers a queue: as much as a connection without a scaled window sends
	bufferSize = 2048 // bytes
)

// Families are the cards with drivers, as messages name them.
const Families = "virtio-net, e1000, e1000e"

// driver is the row of drivers for the card.
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
	name string
	// Starts the card, from whatever state it is in.
	start func() bool
	// Hands a frame over and waits until it is taken.
	send func(frame uintptr, n int, mine uint32) bool
	// Hands a frame over, and waits only if there is no room for it; nil: send.
	post     func(frame uintptr, n int, mine uint32) bool
	readable func() bool // reports whether a frame was received
	// Copies it, and returns its length. See ReceiveWhole.
	receive func(buf uintptr, n int, whole bool) (got int, checked bool)
	// Makes the card interrupt by a message; nil: it cannot.
	route func() bool
	// Tells the card that its interrupt was seen; nil: not needed.
	seen func()
}{
	virtioModern: {"virtio-net (PCI, modern)", startVirtio, sendVirtio, postVirtio, readableVirtio, receiveVirtio, routeMSIX, nil},
	virtioLegacy: {"virtio-net (PCI, legacy)", startVirtio, sendVirtio, postVirtio, readableVirtio, receiveVirtio, routeMSIX, nil},
	virtioMMIO:   {"virtio-net (memory-mapped)", startVirtio, sendVirtio, postVirtio, readableVirtio, receiveVirtio, nil, nil},
	e1000:        {"e1000", startE1000, sendE1000, nil, readableE1000, receiveE1000, nil, nil},
	e1000e:       {"e1000e", startE1000, sendE1000, nil, readableE1000, receiveE1000, routeMSI, seenE1000},
}

// onPCI are the families of cards on PCI, in the order in which they are searched for: if a
// hypervisor offers several, virtio is the fastest. known reports whether a function's ID is of the
// family; find finds the registers of the one that header describes, and sets card. Never written.
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

// want is the hardware address of the card to use; 0: any. Set once at boot.
var want [6]byte

// Want sets which card [Init] must use, by its hardware address; 0 stands for any. Early context.
func Want(a [6]byte) { want = a }

// wanted reports whether the card with that hardware address is the one to use. A driver asks
// before it gives the card memory, which another one may need.
func wanted(a [6]byte) bool { return want == [6]byte{} || a == want }

// stack is set if the program has a network stack. Set once at boot.
var stack bool

// Init looks for a card that a driver knows and starts it: on PCI first, then at the places of
// virtio.AddPlace, or on a machine without PCI where QEMU's microvm has its devices. withStack says
// that a network stack will receive by [ReceiveWhole]. Early context, once, when the page tables
// are set up and before mem.Release.
func Init(withStack bool) {
	if !parts.Network {
		return
	}
	stack = withStack
	if arch.HasPCI() {
		findPCI()
	}
	if card == none {
		findPlaces()
	}
}

// findPCI starts the first card on PCI that works. Large machines have root buses that only ACPI's
// tables name: when nothing else is left, all buses are searched.
func findPCI() {
	findOn(pci.Scan{})
	if card == none {
		findOn(pci.AllBuses())
	}
}

// findOn starts the first card of the scan that works.
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

// header is the configuration space of the function that is being examined. Under the kernel lock.
var header pci.Header

// tryCard starts the card whose registers were found, and gives it up if it does not work.
func tryCard(found bool) {
	if !found || !start() {
		card, address = none, [6]byte{}
	}
}

// start starts the card, from whatever state it is in.
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
func Up() bool { return parts.Network && card != none }

// Address returns the card's hardware address, all 0 if there is no card. Any context.
func Address() [6]byte { return address }

// Name returns the name of the card's driver, or "". Any context.
func Name() string { return drivers[card].name }

// Send sends the frame of n bytes at address frame, from the destination's address to the end of
// the data, and returns when the card has taken it; a short frame is padded. It returns false if
// there is no card, the length is wrong, the frame cannot be read, or the card has not taken it
// within a second or more; after that it waits less, until a frame is taken. It needs nothing of
// the runtime, allocates nothing, and may be called while another Send is interrupted; when that
// one goes on, it sends its frame once more. Any context, interrupts off.
func Send(frame uintptr, n int) bool { return transfer(frame, n, true) }

// Post is Send for the frames of programs: it returns when the card has the frame, which it may not
// have read yet. Something longer than [MaxFrame] must begin with virtio-net's header, of
// [HeaderBytes], and the card does what that asks for. Kernel context.
func Post(frame uintptr, n int) bool { return transfer(frame, n, false) }

// Longest returns how many bytes [Post] takes at most: [MaxFrame], or more if the card cuts packets
// of TCP into frames. Any context.
func Longest() int {
	if agreed&featuresCut == featuresCut {
		return maxCut
	}
	return MaxFrame
}

// Waiting returns how many frames of Post the card has not read yet. Kernel context.
func Waiting() int {
	if !Up() || drivers[card].post == nil {
		return 0
	}
	return int(tx.Index() - tx.UsedIndex())
}

// transfer is Send, and waits for the card only if wait is set.
func transfer(frame uintptr, n int, wait bool) bool {
	if !Up() || n <= 0 || n > Longest() {
		return false
	}
	ok := false
	for range 3 {
		sends++
		mine := sends
		if post := drivers[card].post; post != nil && !wait {
			ok = post(frame, n, mine)
		} else {
			ok = drivers[card].send(frame, n, mine)
		}
		if !disturbed(mine) {
			break
		}
	}
	return ok
}

// disturbed reports whether an interrupting caller has called Send or Restart since this Send got
// its number: then nothing is known of its frame.
func disturbed(mine uint32) bool {
	// (A plain read could be moved out of a loop, where nothing seems to change it.)
	return arch.Load32(uintptr(unsafe.Pointer(&sends))) != mine
}

// Readable reports whether a frame was received. Kernel context.
func Readable() bool { return Up() && drivers[card].readable() }

// Receive copies a received frame to buf, which has room for n bytes, and returns its length in
// bytes, 0 if there is none. A longer frame is cut. Checksums that the card has left open are
// filled in, and packets that are longer than frames are dropped. Early and kernel context.
func Receive(buf uintptr, n int) int {
	got, _ := receive(buf, n, false)
	return got
}

// ReceiveWhole is Receive for a network stack: it also returns packets of TCP that were never cut
// into frames, of up to [MaxWhole] bytes. If n may be too small for the next one it returns -1, and
// the packet stays. checked reports whether the card says that the bytes are right; the checksum of
// such a packet may be open all the same. Kernel context.
func ReceiveWhole(buf uintptr, n int) (got int, checked bool) { return receive(buf, n, true) }

func receive(buf uintptr, n int, whole bool) (got int, checked bool) {
	for i := 0; i < slots && Readable(); i++ {
		if got, checked = drivers[card].receive(buf, n, whole); got != 0 {
			return got, checked
		}
	}
	return 0, false
}

// Restart restarts the card with empty rings, and reports whether it answers: for a Send that has
// failed, in the panic path. Any context, interrupts off.
func Restart() bool {
	sends++
	stalled = false
	return parts.Network && start()
}

// How often a register of the card is read before a frame is dropped, a second or more on any
// machine, because an emulator's card stands still for as long as its host is busy; and how often
// before a reset, a tenth of a second or more, and again until the card has loaded its address.
// Variables for the tests, whose cards are threads. Never written.
var (
	patience      = 2_000_000
	resetPatience = 200_000
	loadPatience  = 200_000
)

// stalledPatience is patience with a card that has stood still once.
const stalledPatience = 1_000

var stalled bool // the last frame was dropped; under the kernel lock; the panic path takes none

// polls returns how often to check whether the card has taken a frame.
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
	if n <= 0 || got <= 0 {
		return 0
	}
	part := uintptr(min(n, got))
	return int(part - arch.CopyUser(buf, from, part))
}

// allocate takes memory for the card to read and write, once: if the driver then fails, a second
// card gets none.
func allocate(bytes uintptr) bool {
	memory = mem.Contiguous(bytes)
	return memory != 0
}

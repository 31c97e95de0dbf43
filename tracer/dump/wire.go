package dump

import (
	"github.com/zeroframe/zeroframe/tracer/datagram"
	"github.com/zeroframe/zeroframe/tracer/seal"
)

// A packet is a header and a body. All numbers are little-endian.
//
//	 0  "zfd1"
//	 4  kind
//	 5  epoch: how often the dump has been announced
//	 6  length of the body, 2 bytes
//	 8  number of the dump, 8 bytes: random
//	16  number of the item, 4 bytes: from 1; 0 if the packet is no item
//	20  number of the packet, 4 bytes: a new one each time that an item is sent
//	24  CRC-32C of the packet, this field counted as zeros, 4 bytes
//	28  1: the body is sealed (package tracer/seal) with the first 24 bytes of the header, and
//	    has a tag at its end; the number of the message is item<<32 + number of the packet. Else 0
//	29  0, 3 bytes
//
// From the machine:
//
//	'A' announcement  Announce; no item
//	'C' CPU           CPU
//	'M' memory        ranges of RAM: pairs of addresses, lo <= address < hi, 8 bytes each
//	'D' data          Place, then bytes of one page
//	'Z' zeros         Place, then the number of pages that are all zeros, 4 bytes
//	'E' end           End
//
// From the receiver:
//
//	'W' welcome       how many pages in order it has already, 4 bytes
//	'K' answer        Answer
//	'Q' question      what dump is this? Announce it again
//	'N' no            it accepts no dump: a reason in words
//
// On a serial line there are no answers, and the announcement comes first.
//
// A machine that knows its receiver's public key seals everything but the announcement, which
// carries the key that was made for the dump. It ignores a welcome or an answer that is not sealed.
// The receiver puts numbers of its own in place of item and packet, and never uses one twice.

// Kinds of packets.
const (
	KindAnnounce = 'A'
	KindCPU      = 'C'
	KindMemory   = 'M'
	KindData     = 'D'
	KindZeros    = 'Z'
	KindEnd      = 'E'
	KindWelcome  = 'W'
	KindAnswer   = 'K'
	KindQuestion = 'Q'
	KindNo       = 'N'
)

// Sizes in bytes.
const (
	HeaderSize = 32
	// PageSize is the size of a page.
	PageSize = 4096
	// PieceSize is the largest part of a page in one packet: a page is three pieces.
	PieceSize = 1376
	// PlaceSize is the length of a Place.
	PlaceSize = 16
	// MaxBody is the length of the longest body, MaxPacket that of the longest packet: with the
	// headers of UDP, IPv4 and Ethernet it fits a frame.
	MaxBody   = PlaceSize + PieceSize
	MaxPacket = HeaderSize + MaxBody + seal.TagSize
	// MaxRanges is the largest number of ranges of RAM in one packet.
	MaxRanges = 64
	// MaxCPUs is the largest number of CPUs in a dump.
	MaxCPUs = 64
	// MaxZeros is the largest number of pages of zeros in one item, so that neither side works long
	// on one item.
	MaxZeros = 1024
)

const magic = 0x3164667a // "zfd1"

// Header is a packet's header, without its length and checksum.
type Header struct {
	Kind  byte
	Epoch byte
	Dump  uint64
	Item  uint32
	Sent  uint32
	// Sealed says that the body is sealed.
	Sealed bool
}

// number is the number of a sealed message.
func (h *Header) number() uint64 { return uint64(h.Item)<<32 | uint64(h.Sent) }

const sealedWith = 24 // bytes of the header that are authenticated

// Finish writes the header of a packet whose body of n bytes is already in p, and returns the
// packet's length. p must have HeaderSize more bytes.
func Finish(p []byte, h *Header, n int) int {
	begin(p, h, n)
	return end(p, n)
}

// FinishSealed is [Finish] for a body that it seals with a key. p must have room for HeaderSize and
// the tag.
func FinishSealed(p []byte, h *Header, n int, k *seal.Key) int {
	begin(p, h, n+seal.TagSize)
	p[28] = 1
	seal.Seal(k, p[HeaderSize:], n, p[:sealedWith], h.number())
	return end(p, n+seal.TagSize)
}

func begin(p []byte, h *Header, n int) {
	PutUint32(p, magic)
	p[4], p[5], p[6], p[7] = h.Kind, h.Epoch, byte(n), byte(n>>8)
	PutUint64(p[8:], h.Dump)
	PutUint32(p[16:], h.Item)
	PutUint32(p[20:], h.Sent)
	PutUint32(p[24:], 0)
	PutUint32(p[28:], 0)
}

func end(p []byte, n int) int {
	PutUint32(p[24:], checksum(p[:HeaderSize+n]))
	return HeaderSize + n
}

// FinishAgain marks a packet of that length as sealed and writes its checksum, when the body was
// sealed by other means.
func FinishAgain(p []byte, length int) {
	p[28] = 1
	PutUint32(p[24:], 0)
	end(p, length-HeaderSize)
}

// Unseal decrypts the body of a packet that [Parse] accepted, in place.
func Unseal(p []byte, h *Header, k *seal.Key) (body []byte, ok bool) {
	b := p[HeaderSize:]
	if !h.Sealed || !seal.Open(k, b, p[:sealedWith], h.number()) {
		return nil, false
	}
	return b[:len(b)-seal.TagSize], true
}

// Is reports whether p begins like a packet.
func Is(p []byte) bool { return len(p) >= HeaderSize && Uint32(p) == magic }

// Length returns the length of the packet at the beginning of p, from its header. ok is false if it
// is more than MaxPacket.
func Length(p []byte) (n int, ok bool) {
	if !Is(p) {
		return 0, false
	}
	n = HeaderSize + (int(p[6]) | int(p[7])<<8)
	return n, n <= MaxPacket
}

// Parse reads a packet that fills all of p; ok is false if p is no packet or is damaged.
func Parse(p []byte) (h Header, body []byte, ok bool) {
	if n, whole := Length(p); !whole || n != len(p) {
		return h, nil, false
	}
	c := datagram.AddCRC(^uint32(0), p[:24])
	c = datagram.AddCRC(c, zeros[:])
	if ^datagram.AddCRC(c, p[28:]) != Uint32(p[24:]) {
		return h, nil, false
	}
	h = Header{Kind: p[4], Epoch: p[5], Dump: Uint64(p[8:]), Item: Uint32(p[16:]),
		Sent: Uint32(p[20:]), Sealed: p[28] == 1}
	return h, p[HeaderSize:], true
}

// zeros replaces the checksum's field. Never written.
var zeros [4]byte

// Place is where a piece of memory belongs.
type Place struct {
	Addr  uintptr // physical
	Page  uint32  // index of the page, from 0, in the order of sending
	Class Class
}

// Class says why a page comes when it does: pages are sent in the order of their classes.
type Class byte

// The classes, the most useful first.
const (
	Tables  Class = iota // the page tables, without which no other address can be found
	Kernel               // the kernel's data, its stacks and the program's variables
	Stacks               // of goroutines
	Runtime              // what the Go runtime keeps outside the heap
	Heap                 // everything else that the program has mapped
	Rest                 // files, the image, frames that were in use
	Unused               // RAM that was never handed out
	NumClasses
)

// String returns the name of a class.
func (c Class) String() string {
	if c >= NumClasses {
		return "unknown"
	}
	return [...]string{"page tables", "kernel data", "stacks", "runtime data", "heap", "the rest",
		"unused RAM"}[c]
}

// PutPlace writes a Place to b.
func PutPlace(b []byte, p *Place) {
	PutUint64(b, uint64(p.Addr))
	PutUint32(b[8:], p.Page)
	b[12], b[13], b[14], b[15] = byte(p.Class), 0, 0, 0
}

// ParsePlace reads the Place at the beginning of a body, and returns the bytes after it.
func ParsePlace(b []byte) (p Place, rest []byte, ok bool) {
	if len(b) < PlaceSize {
		return p, nil, false
	}
	return Place{uintptr(Uint64(b)), Uint32(b[8:]), Class(b[12])}, b[PlaceSize:], true
}

// Announce is what a receiver must know first. In a body it is 8 + 8 + 4 + 4 + 4 bytes, then the
// length of the build ID, bits (0: sealed, 1: kept), the key, and the build ID.
type Announce struct {
	Highest  uint64 // the address above the highest RAM
	Root     uint64 // physical address of the page tables
	Pages    uint32 // of RAM
	CPUs     uint32 // how many
	Dead     uint32 // number of the CPU that died first
	BuildID  [32]byte
	NBuildID int
	Sealed   bool
	Kept     bool                 // over a reset: the previous boot has died
	Key      [seal.PointSize]byte // the machine's public key, if it is sealed
}

const announceSize = 30 + seal.PointSize

// PutAnnounce writes an Announce to b and returns its length.
func PutAnnounce(b []byte, a *Announce) int {
	PutUint64(b, a.Highest)
	PutUint64(b[8:], a.Root)
	PutUint32(b[16:], a.Pages)
	PutUint32(b[20:], a.CPUs)
	PutUint32(b[24:], a.Dead)
	b[28], b[29] = byte(a.NBuildID), 0
	if a.Sealed {
		b[29] |= 1
	}
	if a.Kept {
		b[29] |= 2
	}
	for i := range len(a.Key) { // by hand: a copy is a call of the runtime
		b[30+i] = a.Key[i]
	}
	n := announceSize
	for i := 0; i < a.NBuildID; i++ {
		b[n] = a.BuildID[i]
		n++
	}
	return n
}

// ParseAnnounce reads an Announce.
func ParseAnnounce(b []byte) (a Announce, ok bool) {
	if len(b) < announceSize || int(b[28]) > len(a.BuildID) || len(b) != announceSize+int(b[28]) {
		return a, false
	}
	a = Announce{Highest: Uint64(b), Root: Uint64(b[8:]), Pages: Uint32(b[16:]), CPUs: Uint32(b[20:]),
		Dead: Uint32(b[24:]), Sealed: b[29]&1 != 0, Kept: b[29]&2 != 0}
	for i := range len(a.Key) {
		a.Key[i] = b[30+i]
	}
	for i := announceSize; i < len(b); i++ {
		a.BuildID[a.NBuildID] = b[i]
		a.NBuildID++
	}
	return a, a.CPUs <= MaxCPUs
}

// NumRegisters is the number of registers of a CPU in a dump, numbered as in package tracer.
const NumRegisters = 40

// CPU is the state of one CPU. In a body it is its number and state, 4 bytes each, bits for the
// registers that are known, its TLS, and all registers, 8 bytes each.
type CPU struct {
	Number, State uint32
	Have          uint64
	TLS           uint64
	Registers     [NumRegisters]uintptr
}

// States of a CPU.
const (
	CPUUnknown = iota // it has not answered
	CPUDied           // the first
	CPUDiedToo        // after another one
	CPUStopped        // it ran when another one died
)

const cpuSize = 4 + 4 + 8 + 8 + 8*NumRegisters

// PutCPU writes a CPU to b and returns its length.
func PutCPU(b []byte, c *CPU) int {
	PutUint32(b, c.Number)
	PutUint32(b[4:], c.State)
	PutUint64(b[8:], c.Have)
	PutUint64(b[16:], c.TLS)
	for i := range c.Registers {
		PutUint64(b[24+8*i:], uint64(c.Registers[i]))
	}
	return cpuSize
}

// ParseCPU reads a CPU.
func ParseCPU(b []byte) (c CPU, ok bool) {
	if len(b) != cpuSize {
		return c, false
	}
	c.Number, c.State, c.Have, c.TLS = Uint32(b), Uint32(b[4:]), Uint64(b[8:]), Uint64(b[16:])
	for i := range c.Registers {
		c.Registers[i] = uintptr(Uint64(b[24+8*i:]))
	}
	return c, c.Number < MaxCPUs
}

// End says how a dump ended.
type End struct {
	Why        uint32
	Sent       uint32 // pages
	Unreadable uint32 // pages that could not be read
	Hidden     uint32 // bytes that are zeros in the dump because they are secret
	// Lost is the number of pages of each class that were overwritten before they could be sent. A
	// body has it only if the dump is kept.
	Kept bool
	Lost [NumClasses]uint32
}

// Why a dump ends.
const (
	EndWhole = iota // all RAM was sent
	EndTime         // its time was over
	EndRoom         // there was no more room
)

// EndSize is the length of an End, KeptEndSize that of one that has Lost.
const (
	EndSize     = 16
	KeptEndSize = EndSize + 4*int(NumClasses)
)

// PutEnd writes an End to b and returns its length.
func PutEnd(b []byte, e *End) int {
	PutUint32(b, e.Why)
	PutUint32(b[4:], e.Sent)
	PutUint32(b[8:], e.Unreadable)
	PutUint32(b[12:], e.Hidden)
	if !e.Kept {
		return EndSize
	}
	for i := range e.Lost {
		PutUint32(b[EndSize+4*i:], e.Lost[i])
	}
	return KeptEndSize
}

// ParseEnd reads an End.
func ParseEnd(b []byte) (e End, ok bool) {
	if len(b) != EndSize && len(b) != KeptEndSize {
		return e, false
	}
	e = End{Why: Uint32(b), Sent: Uint32(b[4:]), Unreadable: Uint32(b[8:]), Hidden: Uint32(b[12:]),
		Kept: len(b) == KeptEndSize}
	if e.Kept {
		for i := range e.Lost {
			e.Lost[i] = Uint32(b[EndSize+4*i:])
		}
	}
	return e, true
}

// Window is the largest number of items under way.
const Window = 256

// Answer says what a receiver has.
type Answer struct {
	Next   uint32 // it has all items below this one
	Latest uint32 // number of the packet that came last
	Behind [Window / 8]byte
}

// AnswerSize is the length of an Answer.
const AnswerSize = 8 + Window/8

// Has reports whether the receiver has an item.
func (a *Answer) Has(item uint32) bool {
	n := item - a.Next
	return int32(n) < 0 || n < Window && a.Behind[n/8]&(1<<(n%8)) != 0
}

// PutAnswer writes an Answer to b and returns its length.
func PutAnswer(b []byte, a *Answer) int {
	PutUint32(b, a.Next)
	PutUint32(b[4:], a.Latest)
	for i := range len(a.Behind) {
		b[8+i] = a.Behind[i]
	}
	return AnswerSize
}

// ParseAnswer reads an Answer.
func ParseAnswer(b []byte, a *Answer) bool {
	if len(b) != AnswerSize {
		return false
	}
	a.Next, a.Latest = Uint32(b), Uint32(b[4:])
	for i := range len(a.Behind) {
		a.Behind[i] = b[8+i]
	}
	return true
}

// PutUint32, PutUint64, Uint32 and Uint64 write and read the numbers of the format.
func PutUint32(b []byte, v uint32) {
	_ = b[3]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

// PutUint64 writes eight bytes.
func PutUint64(b []byte, v uint64) {
	_ = b[7]
	PutUint32(b, uint32(v))
	PutUint32(b[4:], uint32(v>>32))
}

// Uint32 reads four bytes.
func Uint32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// Uint64 reads eight bytes.
func Uint64(b []byte) uint64 {
	_ = b[7]
	return uint64(Uint32(b)) | uint64(Uint32(b[4:]))<<32
}

func checksum(b []byte) uint32 { return ^datagram.AddCRC(^uint32(0), b) }

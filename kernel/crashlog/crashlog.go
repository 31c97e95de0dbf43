package crashlog

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// A record is a header followed by the bytes of each Part, in order. It is written into the first
// copy, whose mark is set last, and then copied as a whole. So a crash while it is written leaves
// no half record that looks like a whole one, and later damage to one copy does not matter.

// Part is a part of a record.
type Part int

// The parts of a record.
const (
	Reason  Part = iota // why the machine died, in words
	Trace               // the lines of the trace
	CPUs                // entries: the trace lines of each other CPU
	Console             // the last bytes of the console before the trace
	Sent                // the number under which the trace was sent by network
	numParts
)

// header is the start of a record.
type header struct {
	mark       uint64
	crc        uint32 // of the header, with this field 0, and of all parts
	generation uint32 // crashes recorded since this RAM was blank
	length     [numParts]uint32
}

const (
	headerSize = unsafe.Sizeof(header{})
	room       = Size - headerSize
	// marked is the mark of a record that has not been reported yet, "zfcrash2".
	marked = 0x32687361_7263667a
	// reported is the mark of one that has been reported: only its generation counts.
	reported = 0x30687361_7263667a

	// entrySize is the size of an entry's head: its length and its number, four bytes each,
	// little-endian.
	entrySize = 8
)

// State is the result of Find.
type State int

const (
	// None: no record, or one that has been reported.
	None State = iota
	// Whole: a record with the right CRC.
	Whole
	// Damaged: there was a record, and neither copy of it is intact.
	Damaged
)

// Set once at boot, and then panic path only.
var (
	generation uint32  // of the latest record
	found      uintptr // the copy that is whole; 0: none
	looked     bool

	part    Part // the part that is being written
	next    uintptr
	lengths [numParts]uint32
	entry   uintptr // where the latest entry begins; 0: none
)

func at(copy uintptr) *header { return (*header)(arch.Pointer(copy)) }

// Find looks for the previous boot's record. Early context, before the next record is written.
func Find() State {
	looked = true
	state := None
	if base == 0 {
		return None
	}
	for c := base; c < base+areaSize; c += Size {
		h := at(c)
		if h.mark != marked && h.mark != reported {
			continue
		}
		if h.crc != sum(c) {
			if h.mark == marked && state == None {
				state = Damaged
			}
			continue
		}
		generation = h.generation
		if h.mark == reported {
			// The copies are marked one after another; a reset in between happened after the
			// report.
			return None
		}
		found = c
		return Whole
	}
	return state
}

// Generation returns the number of crashes recorded since the RAM was blank, as far as Find knows.
// Any context.
func Generation() uint32 { return generation }

// Bytes returns a part of the record that Find found. The bytes are in the record, and valid until
// Clear. Early context.
//
//go:noinline
func Bytes(p Part) []byte {
	if found == 0 {
		return nil
	}
	h := at(found)
	a := found + headerSize
	for i := range p {
		a += uintptr(h.length[i])
	}
	return unsafe.Slice((*byte)(arch.Pointer(a)), int(h.length[p]))
}

// SetReported marks the record, whole or damaged, as reported: Find will not return it again,
// whatever happens to this boot. Its bytes stay until Clear. Early context.
func SetReported() {
	if base == 0 {
		return
	}
	for c := base; c < base+areaSize; c += Size {
		h := at(c)
		if h.mark != marked && h.mark != reported {
			continue
		}
		if c != found {
			h.length = [numParts]uint32{}
		}
		h.generation = generation
		h.mark = reported
		h.crc = sum(c)
	}
}

// Clear zeroes the bytes of a record that has been reported. Early context.
func Clear() {
	found = 0
	if base == 0 {
		return
	}
	for c := base; c < base+areaSize; c += Size {
		h := at(c)
		if h.mark != reported {
			continue
		}
		h.length = [numParts]uint32{}
		h.crc = sum(c)
		for a := c + headerSize; a < c+Size; a += 8 {
			*(*uint64)(arch.Pointer(a)) = 0
		}
	}
}

// Start begins a record, which replaces any other; the first part is the reason. Kernel context.
func Start() {
	if !looked {
		Find()
	}
	found, next = 0, 0
	if base == 0 {
		return
	}
	at(base).mark = 0
	part, next, entry = Reason, base+headerSize, 0
	lengths = [numParts]uint32{}
}

// Next says that the following bytes belong to that part; parts come in order.
func Next(p Part) { part = p }

// Again reopens the finished record from that part on, and keeps the parts before it. Until Finish
// the second copy holds the old record. Kernel context.
func Again(p Part) {
	if next == 0 {
		return
	}
	at(base).mark = 0
	part, next, entry = p, base+headerSize, 0
	for i := range lengths {
		if Part(i) < p {
			next += uintptr(lengths[i])
		} else {
			lengths[i] = 0
		}
	}
}

// BeginEntry begins an entry of the part; an unfinished one is dropped. Kernel context.
func BeginEntry() {
	dropEntry()
	entry = next
	for range entrySize {
		Byte(0)
	}
}

// EndEntry ends it, with a number, if the record then still has room bytes left, which must be more
// than 0; otherwise it drops the entry and returns false. Kernel context.
func EndEntry(number uint32, room int) bool {
	if next == 0 || Room() < room {
		dropEntry()
		return false
	}
	for i, v := range [...]uint32{uint32(next-entry) - entrySize, number} {
		for k := range uintptr(4) {
			*(*byte)(arch.Pointer(entry + uintptr(i)*4 + k)) = byte(v >> (8 * k))
		}
	}
	entry = 0
	return true
}

func dropEntry() {
	if entry != 0 {
		lengths[part] -= uint32(next - entry)
		next, entry = entry, 0
	}
}

// Entry splits the first entry off a part that consists of entries; ok is false if there is none.
func Entry(entries []byte) (lines, rest []byte, number uint32, ok bool) {
	if len(entries) < entrySize {
		return nil, nil, 0, false
	}
	n := uint64(0)
	for i := range 4 {
		n |= uint64(entries[i]) << (8 * uint(i))
		number |= uint32(entries[4+i]) << (8 * uint(i))
	}
	if n > uint64(len(entries)-entrySize) {
		return nil, nil, 0, false
	}
	end := entrySize + int(n)
	return entries[entrySize:end], entries[end:], number, true
}

// Byte appends a byte. A full record ignores it.
//
//go:noinline
func Byte(b byte) {
	if next == 0 || next >= base+Size {
		return
	}
	*(*byte)(arch.Pointer(next)) = b
	next++
	lengths[part]++
}

// Room returns the number of bytes that still fit.
func Room() int {
	if next == 0 {
		return 0
	}
	return int(base + Size - next)
}

// Finish ends the record. Write the caches back before a reset.
func Finish() {
	if next == 0 {
		return
	}
	h := at(base)
	h.generation = generation + 1
	h.length = lengths
	h.mark = marked
	h.crc = sum(base)
	for i := uintptr(0); i < Size; i += 8 {
		*(*uint64)(arch.Pointer(base + Size + i)) = *(*uint64)(arch.Pointer(base + i))
	}
}

// sum returns the CRC that the copy's header should have, or its complement if the lengths in it
// make no sense.
func sum(copy uintptr) uint32 {
	h := at(copy)
	n := uint64(0)
	for _, l := range h.length {
		n += uint64(l)
	}
	if n > uint64(room) {
		return ^h.crc
	}
	var crc tracer.CRC
	// The CRC's own four bytes count as zeros.
	const crcAt = unsafe.Offsetof(header{}.crc)
	for i := uintptr(0); i < headerSize+uintptr(n); i++ {
		b := byte(0)
		if i-crcAt >= 4 {
			b = *(*byte)(arch.Pointer(copy + i))
		}
		crc.Byte(b)
	}
	return crc.Sum()
}

package memdump

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// What is sent, one item after another: CPUs, the ranges of RAM, pages in pieces, zeros, the end.
// An item is a slot (dump.Slot), and its body is made from that whenever it is sent.

// items is the state of the sending. Panic path only.
var items struct {
	cpu        uint32 // the next CPU
	memory     bool   // the ranges of RAM have been sent
	frame      uintptr
	place      dump.Place
	pending    bool // frame is a page that was taken and not sent yet
	zero       bool // that page is known to be all zeros
	offset     uint32
	unreadable uint32
	why        uint32 // why the dump ends
	ended      bool
}

// beginItems starts again, without the first pages of the order.
func beginItems(without uint32) {
	i := &items
	i.cpu, i.memory, i.pending, i.ended, i.offset, i.unreadable, i.why = 0, false, false, false, 0, 0,
		dump.EndWhole
	pages.reset()
	for pages.count < without {
		if _, ok := pages.next(); !ok {
			break
		}
	}
}

// cutItems makes the end the next item.
func cutItems(why uint32) {
	items.cpu, items.memory, items.pending, items.why = numCPUs, true, false, why
	pages.class = dump.NumClasses
}

// nextItem fills in the next item; ok is false after the end.
func nextItem(s *dump.Slot) (ok bool) {
	i := &items
	switch {
	case i.ended:
		return false
	case i.cpu < numCPUs:
		s.Kind, s.N = dump.KindCPU, i.cpu
		i.cpu++
		return true
	case !i.memory:
		s.Kind = dump.KindMemory
		i.memory = true
		return true
	case !i.pending && !takePage():
		s.Kind = dump.KindEnd
		i.ended = true
		return true
	case i.zero:
		s.Kind, s.Place, s.N = dump.KindZeros, i.place, 1
		i.pending = false
		for s.N < dump.MaxZeros && takePage() {
			if !i.zero || i.frame != s.Place.Addr+uintptr(s.N)*arch.PageSize ||
				i.place.Class != s.Place.Class || i.place.Page != s.Place.Page+s.N {
				break // it is pending
			}
			i.pending = false
			s.N++
		}
		return true
	}
	s.Kind, s.Place = dump.KindData, i.place
	s.Place.Addr += uintptr(i.offset)
	s.N = min(arch.PageSize-i.offset, dump.PieceSize)
	if i.offset += s.N; i.offset == arch.PageSize {
		i.pending, i.offset = false, 0
	}
	return true
}

// takePage takes the next readable page, which is pending then.
func takePage() bool {
	i := &items
	for {
		f, ok := pages.next()
		if !ok {
			return false
		}
		n := pages.count - 1
		if !read(space().buffer[:], f, arch.PageSize) {
			i.unreadable++
			continue
		}
		i.frame, i.place = f, dump.Place{Addr: f, Page: n, Class: pages.class}
		i.zero, i.offset, i.pending = isZero(&space().buffer), 0, true
		return true
	}
}

func isZero(b *[arch.PageSize]byte) bool {
	words := (*[arch.PageSize / 8]uint64)(unsafe.Pointer(b))
	for i := 0; i < len(words); i += 4 {
		if words[i]|words[i+1]|words[i+2]|words[i+3] != 0 {
			return false
		}
	}
	return true
}

// putItem writes an item's body to b, and returns its length.
func putItem(b []byte, s *dump.Slot) int {
	switch s.Kind {
	case dump.KindCPU:
		return dump.PutCPU(b, &space().cpus[s.N%dump.MaxCPUs])
	case dump.KindMemory:
		return putMemory(b)
	case dump.KindData:
		dump.PutPlace(b, &s.Place)
		if !read(b[dump.PlaceSize:], s.Place.Addr, int(s.N)) {
			s.N = 0 // it was readable a moment ago
		}
		return dump.PlaceSize + int(s.N)
	case dump.KindZeros:
		dump.PutPlace(b, &s.Place)
		dump.PutUint32(b[dump.PlaceSize:], s.N)
		return dump.PlaceSize + 4
	}
	e := dump.End{Why: items.why, Sent: sentPages(), Unreadable: items.unreadable, Hidden: hiddenBytes,
		Kept: sendingKept}
	if sendingKept {
		e.Unreadable += absent
		for i := range e.Lost {
			e.Lost[i] = lost[i]
		}
	}
	return dump.PutEnd(b, &e)
}

// sentPages is the number of pages that were sent.
func sentPages() uint32 { return pages.count - pages.lost - items.unreadable }

// putMemory writes the ranges of RAM to b, and returns their length.
func putMemory(b []byte) (n int) {
	for i := range dump.MaxRanges {
		lo, hi, ok := mem.RAM(i)
		if sendingKept {
			k := keptAt(found)
			if ok = i < int(k.NumRAM); ok {
				lo, hi = uintptr(k.RAM[i].Lo), uintptr(k.RAM[i].Hi)
			}
		}
		if !ok {
			break
		}
		dump.PutUint64(b[n:], uint64(lo))
		dump.PutUint64(b[n+8:], uint64(hi))
		n += 16
	}
	return n
}

// putAnnounce writes the announcement's body.
func putAnnounce(b []byte) int {
	var a dump.Announce
	if sendingKept {
		k := keptAt(found)
		a = dump.Announce{Highest: k.Highest, Root: k.Root, Pages: k.Pages, CPUs: numCPUs, Dead: dead,
			NBuildID: int(k.ID), BuildID: k.BuildID,
			Kept: true, Sealed: sealed, Key: public}
		return dump.PutAnnounce(b, &a)
	}
	a = dump.Announce{Highest: mem.Highest(), Root: uint64(mem.Root()), CPUs: numCPUs, Dead: dead,
		Sealed: sealed, Key: public}
	for i := 0; ; i++ {
		lo, hi, ok := mem.RAM(i)
		if !ok {
			break
		}
		a.Pages += uint32((hi - lo) / arch.PageSize)
	}
	id := image.BuildID()
	for i := 0; i < len(id) && i < len(a.BuildID); i++ { // by hand: a copy is a call of the runtime
		a.BuildID[i] = id[i]
		a.NBuildID++
	}
	return dump.PutAnnounce(b, &a)
}

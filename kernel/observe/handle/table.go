package handle

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The table of what is open, and of what was closed last. Entries are numbered from 1; 0 is none.
// Each is found by its kind, key and owner through a bucket's list. The open ones of a kind are in
// a list of their own, newest first; the closed ones are in the order of their closing, and the one
// that was closed first is reused when no other entry is free.

type entry struct {
	key, size       uint64
	opened, closed  uint64 // times
	openStack       uint32
	closeStack      uint32
	bucketNext      uint32
	prev, next      uint32 // in the list of its kind, or of the closed ones
	owner           uint16
	openBy, closeBy uint16 // threads
	kind            Kind
	isOpen          bool
}

const entrySize = unsafe.Sizeof(entry{})

// EntryBytes is the number of bytes of a table for each open entry.
const EntryBytes = entrySize + 4

// Under the kernel lock.
var (
	table    uintptr // address of the entries
	buckets  uintptr // address of the buckets: numbers of 4 bytes
	room     uint32  // number of entries, and of buckets
	fresh    uint32  // entries that have ever been used
	heads    [MaxKinds]uint32
	oldest   uint32 // of the closed ones
	latest   uint32
	kinds    [MaxKinds]stats
	overflow uint64 // entries that found no room
	forgot   uint64 // closed ones that were reused
)

// stats are the totals of a kind.
type stats struct {
	opens, closes, doubles, strays uint64
	open, most                     uint64 // now, and the most at a time
	bytes, mostBytes               uint64 // sizes of what is open
}

// double is a close of something that was already closed.
type double struct {
	entry  entry // as the first close left it
	second event
}

const maxDoubles = 16

// doubles are the first of them. Under the kernel lock.
var (
	doubles    [maxDoubles]double
	numDoubles int
)

func setTable(base, size uintptr) {
	room = uint32(min(size/EntryBytes, 1<<30))
	table, buckets = base, base+uintptr(room)*entrySize
}

func entryAt(i uint32) *entry {
	return (*entry)(arch.Pointer(table + uintptr(i-1)*entrySize))
}

func bucket(k Kind, key uint64, owner uint16) *uint32 {
	h := (key<<16 ^ key>>12 ^ uint64(owner)<<40 ^ uint64(k)<<56) * 0x9e37_79b9_7f4a_7c15
	return (*uint32)(arch.Pointer(buckets + uintptr(h>>32*uint64(room)>>32)*4))
}

// lookUp returns the entry of a key, open or closed, or 0.
func lookUp(k Kind, key uint64, owner uint16) uint32 {
	i := *bucket(k, key, owner)
	for i != 0 {
		e := entryAt(i)
		if e.key == key && e.kind == k && e.owner == owner {
			return i
		}
		i = e.bucketNext
	}
	return 0
}

// take returns a place for a new entry, or 0.
func take() uint32 {
	percpu.AssertLocked()
	if fresh < room {
		fresh++
		return fresh
	}
	i := oldest
	if i == 0 {
		return 0
	}
	forgot++
	forget(i)
	return i
}

// forget removes a closed entry.
func forget(i uint32) {
	unlink(i)
	unhash(i)
}

// unhash takes an entry out of its bucket.
func unhash(i uint32) {
	e := entryAt(i)
	p := bucket(e.kind, e.key, e.owner)
	for *p != i {
		p = &entryAt(*p).bucketNext
	}
	*p = e.bucketNext
}

func hash(i uint32) {
	e := entryAt(i)
	p := bucket(e.kind, e.key, e.owner)
	e.bucketNext = *p
	*p = i
}

// unlink takes an entry out of its list.
func unlink(i uint32) {
	percpu.AssertLocked()
	e := entryAt(i)
	switch {
	case e.prev != 0:
		entryAt(e.prev).next = e.next
	case e.isOpen:
		heads[e.kind] = e.next
	default:
		oldest = e.next
	}
	switch {
	case e.next != 0:
		entryAt(e.next).prev = e.prev
	case !e.isOpen:
		latest = e.prev
	}
}

// linkOpen puts an entry first in the list of its kind.
func linkOpen(i uint32) {
	percpu.AssertLocked()
	e := entryAt(i)
	e.isOpen = true
	e.prev, e.next = 0, heads[e.kind]
	if e.next != 0 {
		entryAt(e.next).prev = i
	}
	heads[e.kind] = i
}

// linkClosed puts an entry last in the list of closed ones.
func linkClosed(i uint32) {
	percpu.AssertLocked()
	e := entryAt(i)
	e.isOpen = false
	e.prev, e.next = latest, 0
	if latest != 0 {
		entryAt(latest).next = i
	} else {
		oldest = i
	}
	latest = i
}

// opened records that something is open.
func opened(ev *event, owner uint16) {
	percpu.AssertLocked()
	s := &kinds[ev.kind]
	s.opens++
	i := lookUp(ev.kind, ev.key, owner)
	switch {
	case i == 0:
		if i = take(); i == 0 {
			overflow++
			return
		}
		e := entryAt(i)
		e.kind, e.key, e.owner = ev.kind, ev.key, owner
		hash(i)
	default:
		unlink(i)
		if e := entryAt(i); e.isOpen {
			s.open--
			s.bytes -= e.size
		}
	}
	e := entryAt(i)
	e.size, e.opened, e.openStack, e.openBy = ev.size, ev.time, ev.stack, ev.thread
	linkOpen(i)
	s.grow(ev.size)
}

func (s *stats) grow(size uint64) {
	s.open++
	s.bytes += size
	s.most, s.mostBytes = max(s.most, s.open), max(s.mostBytes, s.bytes)
}

// closed records that something is no longer open. It changes the event to what it was: Close,
// Double or Stray.
func closed(ev *event, owner uint16) {
	percpu.AssertLocked()
	s := &kinds[ev.kind]
	i := lookUp(ev.kind, ev.key, owner)
	switch {
	case i == 0:
		ev.event = Stray
		s.strays++
	case !entryAt(i).isOpen:
		doubled(ev, i)
	default:
		ev.size = entryAt(i).size
		shut(ev, i)
	}
}

// shut closes an entry that is open.
func shut(ev *event, i uint32) {
	percpu.AssertLocked()
	e, s := entryAt(i), &kinds[ev.kind]
	unlink(i)
	e.closed, e.closeStack, e.closeBy = ev.time, ev.stack, ev.thread
	linkClosed(i)
	s.closes++
	s.open--
	s.bytes -= e.size
}

// doubled handles a close of an entry that is closed.
func doubled(ev *event, i uint32) {
	percpu.AssertLocked()
	ev.event = Double
	kinds[ev.kind].doubles++
	if numDoubles < maxDoubles {
		d := &doubles[numDoubles]
		d.entry, d.second = *entryAt(i), *ev
		numDoubles++
	}
}

// Sum is the totals of a kind: how many were opened and closed twice, how many are open now, and
// the most at a time.
type Sum struct{ Opens, Doubles, Open, Most uint64 }

// Sums returns the totals of a kind. Kernel context.
func Sums(k Kind) Sum {
	percpu.AssertLocked()
	s := &kinds[k]
	return Sum{s.opens, s.doubles, s.open, s.most}
}

// Handle is something that is open.
type Handle struct {
	Key, Size uint64
	Since     uint64 // ns of the clock
	Stack     uint32 // in the depot of package stackid
	Thread    uint16 // that opened it
	Next      uint32 // for At, 0 after the last
}

// First returns the number of the entry of a kind that was opened last, for At; 0 if none is open.
// Kernel context.
func First(k Kind) uint32 { return heads[k] }

// At returns the entry with that number, which First or another one's Next returned, with no event
// since. Kernel context.
func At(i uint32) Handle {
	e := entryAt(i)
	return Handle{e.key, e.size, e.opened, e.openStack, e.openBy, e.next}
}

package handle

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// event is an entry of the ring.
type event struct {
	time   uint64 // ns of the clock
	key    uint64
	size   uint64
	stack  uint32 // in the depot; 0: not known
	thread uint16 // 0: none
	kind   Kind
	event  Event
}

const eventSize = unsafe.Sizeof(event{})

// MinRing is the smallest size of a ring in bytes.
const MinRing = 64 * eventSize

// Under the kernel lock.
var (
	ring     uintptr // address of the events
	ringSize uint64  // number of events that fit
	events   uint64  // number of events so far

	noting bool // an event is being logged
)

// Memory is the memory that Start needs, all zero.
type Memory struct {
	Ring, RingBytes   uintptr // for the latest events, MinRing or more
	Table, TableBytes uintptr // for what is open, EntryBytes for each
}

// Start gives the log its memory and begins to log the kinds of Select. The stacks go to the depot
// of package stackid. Early context.
func Start(m *Memory) {
	ring, ringSize = m.Ring, uint64(m.RingBytes/eventSize)
	setTable(m.Table, m.TableBytes)
	on = wanted &^ 1
	if wanted&1 != 0 {
		on |= 1 << (MaxKinds - 1) // for On, though none of these kinds has a name yet
	}
}

// Log logs an event of the key of a kind, if the kind is logged. The stack is that of the goroutine
// for which the kernel works, or that calls. size is in bytes, or what the kind says. Any context:
// a goroutine's call is a system call, and can log only the kinds of [NewKind].
func Log(e Event, k Kind, key, size uintptr) {
	if !Logs(k) {
		return
	}
	if !arch.OnFakeG() {
		logCall(e, k, key, size)
		return
	}
	note(e, k, key, size, 0)
}

// LogWait is Log for a key that several threads may have open, for the thread with that number.
// Kernel context.
func LogWait(e Event, k Kind, key, size uintptr, thread int32) {
	if Logs(k) {
		note(e, k, key, size, uint16(thread))
	}
}

// note logs an event. owner distinguishes entries with the same key.
func note(e Event, k Kind, key, size uintptr, owner uint16) {
	percpu.AssertLocked()
	noting = true
	id, _ := stackid.Here()
	ev := event{
		time: clock.Now(), key: uint64(key), size: uint64(size),
		stack: id, thread: uint16(percpu.This().Thread), kind: k, event: e,
	}
	switch {
	case k == Maps && e == Open:
		cutMaps(&ev)
		opened(&ev, 0)
	case k == Maps && e == Close:
		closeMaps(&ev)
	case e == Open:
		opened(&ev, owner)
	case e == Close:
		closed(&ev, owner)
	}
	add(&ev)
	noting = false
}

// add puts an event into the ring.
func add(ev *event) {
	percpu.AssertLocked()
	*eventAt(events % ringSize) = *ev
	events++
}

func eventAt(i uint64) *event {
	return (*event)(arch.Pointer(ring + uintptr(i)*eventSize))
}

package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// The latest events of each CPU, for the trace of a death: a ring of memory that the CPU's own code
// always writes to, with interrupts off and without a lock. An NMI in between may overwrite the
// event that is being recorded, or leave one out. A death ends the rings, so that the panic path's
// events replace none.

// RingEvents is the number of events in a ring.
const RingEvents = arch.RingSize / arch.EventSize

// Event is a place in a ring.
type Event struct {
	When uint64 // arch.ReadCounter, corrected to the first CPU's; 0: unused
	// Kind, Thread and Number: the kind of the event, the thread that ran, and the kind's number.
	Kind   EventKind
	_      uint8
	Thread uint16
	Number uint32
	A, B   uintptr
}

// EventKind is the kind of an event. The numbers are those of tracer/events.go, which says what the
// words of each kind are.
type EventKind uint8

// The kinds.
const (
	EventCall EventKind = 1 + iota
	EventReturn
	EventFault
	EventInterrupt
	EventSwitch
	EventIdle
	EventWake
	EventLock
	EventSend
)

// Unanswered is EventCall's result until there is one.
const Unanswered = uintptr(1) << 63

// rings tells the host where a core contains them: the addresses, and the number of events in each.
// Set once at boot.
var rings struct {
	events uint64
	at     [arch.MaxCPUs]uintptr
}

// SetRing gives the CPU of the record the memory for its ring, all zero and aligned to its size.
// Early context.
func (r *Record) SetRing(at uintptr) {
	rings.events = RingEvents
	rings.at[r.Number] = at
	r.LatestEvent = at
}

// Note records an event of the running CPU, whose record is r. Kernel context.
func (r *Record) Note(k EventKind, number uint32, a, b uintptr) {
	arch.NoteEvent(&r.CPU, uint32(k), uint32(r.Thread), number, a, b)
}

// NoteCall records that the running thread makes a system call. It returns the argument of Answer.
// Kernel context.
func (r *Record) NoteCall(number uint32, a uintptr) (at uintptr) {
	return arch.NoteEvent(&r.CPU, uint32(EventCall), uint32(r.Thread), number, a, Unanswered)
}

// Answer records the result of the system call for which NoteCall returned at: in that event, if it
// is the latest, else in a new one. (After a whole ring of events, the latest is in the same place;
// for the kinds that a call can make so many of, nobody reads B.) Kernel context.
func (r *Record) Answer(at uintptr, number uint32, result uintptr) {
	if r.LatestEvent == at {
		(*Event)(arch.Pointer(at)).B = result
	} else {
		r.noteReturn(number, result)
	}
}

//go:noinline
func (r *Record) noteReturn(number uint32, result uintptr) {
	r.Note(EventReturn, number, result, 0)
}

// EndRing stops the ring of a CPU that dies or is stopped. Kernel and early context.
func (r *Record) EndRing() {
	if r.LatestEvent != 0 {
		r.lastEvent, r.LatestEvent = r.LatestEvent, 0
	}
}

// EventBefore returns the i'th latest event of a ring that has ended, from 0, or false if there are
// no more. Kernel and early context.
func (r *Record) EventBefore(i uint32) (e *Event, ok bool) {
	if r.lastEvent == 0 || i >= RingEvents {
		return nil, false
	}
	ring := r.lastEvent &^ (arch.RingSize - 1)
	e = (*Event)(arch.Pointer(ring + (r.lastEvent-uintptr(i)*arch.EventSize)%arch.RingSize))
	return e, e.When != 0
}

const _ = -uint(unsafe.Sizeof(Event{}) ^ arch.EventSize)

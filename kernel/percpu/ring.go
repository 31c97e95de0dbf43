package percpu

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// The latest events of each CPU, for the trace of a death: a ring of memory that is always written to, by
// the CPU's own code, with interrupts off and without a lock. An NMI in between may take the place of the event
// that is being noted, or leave one out. A death ends the rings, so that what the panic path does takes nobody's place.

// RingEvents is how many events a ring holds, a power of two.
const RingEvents = 128

// Event is a place in a ring.
type Event struct {
	When uint64 // arch.ReadCounter, corrected to the first CPU's; 0: there has been none here
	// Kind, Thread and Number: what it was, the thread that ran, and what of it there are numbers for.
	Kind   EventKind
	_      uint8
	Thread uint16
	Number uint32
	A, B   uintptr
}

// EventKind is what an event is about. The numbers are those of tracer/events.go, which says what the words of
// each kind are.
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

// Unanswered is what EventCall has for a result until there is one.
const Unanswered = uintptr(1) << 63

// rings is where a core has them, for the host: the addresses, and how many events each holds. Set once at boot.
var rings struct {
	events uint64
	at     [arch.MaxCPUs]uintptr
}

// RingSize is the size of a ring in bytes.
const RingSize = RingEvents * unsafe.Sizeof(Event{})

// SetRing gives the CPU of the record the memory for its ring, all zero; 0: there is none. Early context.
func (r *Record) SetRing(at uintptr) {
	rings.events = RingEvents
	rings.at[r.Number] = at
	r.ring, r.ringAt = at, at
}

// Note notes an event of the running CPU, whose record r is. It returns what Answer takes. Kernel context.
func (r *Record) Note(k EventKind, number uint32, a, b uintptr) (n uint32) {
	if r.ring == 0 {
		return 0
	}
	n = r.noted + 1
	r.noted = n
	e := (*Event)(arch.Pointer(r.ring + uintptr(n%RingEvents)*unsafe.Sizeof(Event{})))
	// The counter comes last: what else there is need not be kept over the call.
	e.Kind, e.Thread, e.Number = k, uint16(r.Thread), number
	e.A, e.B = a, b
	e.When = arch.ReadCounter() + r.CounterOffset
	return n
}

// Answer says what has come of the system call that Note has returned n for: in that event, if it is the latest, else
// in a new one. Kernel context.
func (r *Record) Answer(n, number uint32, result uintptr) {
	if r.noted == n && r.ring != 0 {
		(*Event)(arch.Pointer(r.ring + uintptr(n%RingEvents)*unsafe.Sizeof(Event{}))).B = result
		return
	}
	r.noteReturn(number, result)
}

//go:noinline
func (r *Record) noteReturn(number uint32, result uintptr) { r.Note(EventReturn, number, result, 0) }

// EndRing is for a CPU that dies or is stopped: its ring stays as it is. Kernel and early context.
func (r *Record) EndRing() { r.ring = 0 }

// LatestEvent returns the i'th latest event, from 0, or false if the ring has no more. Kernel and early context.
func (r *Record) LatestEvent(i uint32) (e *Event, ok bool) {
	if r.ringAt == 0 || i >= RingEvents {
		return nil, false
	}
	e = (*Event)(arch.Pointer(r.ringAt + uintptr((r.noted-i)%RingEvents)*unsafe.Sizeof(Event{})))
	return e, e.When != 0
}

const (
	_ = -uint(RingEvents & (RingEvents - 1))
	_ = -uint(unsafe.Sizeof(Event{}) ^ 32)
)

package tracer

// The latest events of the CPU that died. They follow a trace's tables: as event lines, or in the
// compact form as words of memory from EventMark upwards (wire.go).

// EventMark is the address at which the compact form puts the events, EventWords for each. It is no
// address of memory.
const EventMark uintptr = 0xf1_6576_656e_7400

// EventWords is the number of words of an event there: its time before the trace, in nanoseconds;
// its kind in the lowest byte, the thread in the next two and the number from bit 32 on; A and B.
const EventWords = 4

// Event is something that a CPU did.
type Event struct {
	Ago    uint64 // nanoseconds before the trace
	Kind   EventKind
	Thread uint32
	Number uint32
	A, B   uint64
}

// EventKind is what an event is about.
type EventKind uint8

// The kinds of events, and what Number, A and B are.
const (
	// System call: its number, first argument, result (Unanswered: none yet).
	EventCall   EventKind = 1 + iota
	EventReturn           // end of a system call that began long ago: its number, result
	// Exception: vector and error code << 8, pc, address of a page fault.
	EventFault
	EventInterrupt // vector, pc
	EventSwitch    // a thread got the CPU: its number, pc
	EventIdle      // nothing to do
	EventWake      // a thread became ready: its number
	EventLock      // the CPU waited for the kernel lock: gate, pc, nanoseconds
	EventSend      // an interrupt for another CPU: vector, number of the CPU
)

// Unanswered is B of a system call without a result.
const Unanswered = 1 << 63

var eventNames = [...]string{"", "call", "return", "fault", "interrupt", "switch", "idle", "wake",
	"lock", "send"}

// eventFields are the names of Number, A and B by kind; "" is none.
var eventFields = [...][3]string{
	{}, {"n", "a", "result"}, {"n", "result", ""}, {"vector", "pc", "addr"}, {"vector", "pc", ""},
	{"to", "pc", ""}, {}, {"to", "", ""}, {"gate", "pc", "waited"}, {"vector", "to", ""},
}

// String is the kind's word on the wire, "?" for one that is none.
func (k EventKind) String() string {
	if k == 0 || int(k) >= len(eventNames) {
		return "?"
	}
	return eventNames[k]
}

// Fields returns the names of Number, A and B on the wire; "" for those that the kind does not
// have.
func (k EventKind) Fields() (number, a, b string) {
	if int(k) >= len(eventFields) {
		return "", "", ""
	}
	f := &eventFields[k]
	return f[0], f[1], f[2]
}

// Event writes an event; name is the name of its system call, or empty.
func (w *Writer) Event(e *Event, name string) {
	w.str("zf1 event -")
	w.micros(e.Ago)
	w.byte(' ')
	w.str(e.Kind.String())
	number, a, b := e.Kind.Fields()
	if len(name) != 0 {
		w.byte(' ')
		w.str(name)
	}
	if len(number) != 0 {
		w.field(number)
		w.dec(uint64(e.Number & e.Kind.mask()))
	}
	if e.Kind == EventFault {
		w.field("error")
		w.hex(uint64(e.Number >> 8))
	}
	if len(a) != 0 {
		w.field(a)
		if e.Kind == EventSend {
			w.dec(e.A)
		} else {
			w.hex(e.A)
		}
	}
	if len(b) != 0 && !(e.Kind == EventCall && e.B == Unanswered) {
		w.field(b)
		if e.Kind == EventLock {
			w.dec(e.B)
		} else {
			w.hex(e.B)
		}
	}
	if e.Thread != 0 {
		w.field("thread")
		w.dec(uint64(e.Thread))
	}
	w.eol()
}

// mask has the bits of Number that are the number itself: a fault has its error code there, too.
func (k EventKind) mask() uint32 {
	if k == EventFault {
		return 0xff
	}
	return ^uint32(0)
}

func (w *Writer) field(name string) {
	w.byte(' ')
	w.str(name)
	w.byte('=')
}

// micros writes nanoseconds as microseconds.
func (w *Writer) micros(ns uint64) {
	w.dec(ns / 1000)
	w.byte('.')
	for unit := uint64(100); unit > 0; unit /= 10 {
		w.byte('0' + byte(ns/unit%10))
	}
}

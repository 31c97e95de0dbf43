package wire

// What a CPU did last, before it died: event lines, or words at tracer.EventMark in the compact
// form.

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// MaxEvents is the largest number of events that a trace keeps.
const MaxEvents = 4096

// Event is something that the CPU of a trace has done before it.
type Event struct {
	tracer.Event
	// Calls are the functions at PC, as those of a frame.
	Calls []lookup.Call
}

// PC returns the address in the program that the event is about; ok is false if it is about none.
func (e *Event) PC() (pc uint64, ok bool) {
	_, a, _ := e.Kind.Fields()
	return e.A, a == "pc" && e.A != 0
}

// eventKinds are the kinds by their words on the wire.
var eventKinds = func() map[string]tracer.EventKind {
	m := map[string]tracer.EventKind{}
	for k := tracer.EventCall; k.String() != "?"; k++ {
		m[k.String()] = k
	}
	return m
}()

// event reads "-AGO KIND [NAME] key=value ...".
func (r *Record) event(f []string) bool {
	if len(f) < 2 {
		return false
	}
	e := &r.Event
	whole, part, ok := strings.Cut(strings.TrimPrefix(f[0], "-"), ".")
	if !ok || len(part) != 3 || !strings.HasPrefix(f[0], "-") {
		return false
	}
	us, err := strconv.ParseUint(whole, 10, 54)
	ns, err2 := strconv.ParseUint(part, 10, 16)
	e.Ago = us*1000 + ns
	if e.Kind, ok = eventKinds[f[1]]; !ok || err != nil || err2 != nil {
		return false
	}
	nameN, nameA, nameB := e.Kind.Fields()
	code := uint64(0)
	if e.Kind == tracer.EventCall {
		e.B = tracer.Unanswered
	}
	for _, w := range f[2:] {
		k, v, isField := strings.Cut(w, "=")
		if !isField {
			continue // a system call's name
		}
		n, ok := number(v)
		if !ok {
			return false
		}
		switch {
		case k == nameN:
			e.Number = uint32(n)
		case k == nameA:
			e.A = n
		case k == nameB:
			e.B = n
		case k == "error" && e.Kind == tracer.EventFault:
			code = n
		case k == "thread":
			e.Thread = uint32(n)
		}
	}
	e.Number |= uint32(code) << 8
	return true
}

// eventString is String for an event.
func (r *Record) eventString() string {
	e := r.Event.Event
	name := ""
	if e.Kind == tracer.EventCall || e.Kind == tracer.EventReturn {
		name = tracer.CallName(e.Number)
	}
	return asWritten(func(w *tracer.Writer) { w.Event(&e, name) })
}

// asWritten returns a line as the target writes it, without tag and line ending.
func asWritten(write func(*tracer.Writer)) string {
	var b strings.Builder
	write(&tracer.Writer{Put: func(c byte) { b.WriteByte(c) }})
	return strings.TrimPrefix(strings.TrimRight(b.String(), "\r\n"), tracer.Tag)
}

// eventsOf makes records of the words of a memory dump, if it is at tracer.EventMark.
func eventsOf(addr uint64, words []uint64) (records []Record, ok bool) {
	if addr-uint64(tracer.EventMark) >= MaxEvents*tracer.EventWords*8 ||
		len(words)%tracer.EventWords != 0 {
		return nil, false
	}
	for ; len(words) > 0; words = words[tracer.EventWords:] {
		e := tracer.Event{Ago: words[0], Kind: tracer.EventKind(words[1]),
			Thread: uint32(words[1] >> 8 & 0xffff), Number: uint32(words[1] >> 32), A: words[2], B: words[3]}
		if e.Kind.String() != "?" {
			records = append(records, Record{Op: OpEvent, Event: Event{Event: e}})
		}
	}
	return records, true
}

// What says in words what the event was, without the function at its pc.
func (e *Event) What() string {
	call := func(other string) string {
		return cmp.Or(tracer.CallName(e.Number), fmt.Sprintf("%s %d", other, e.Number))
	}
	result := func(v uint64) string {
		if n := int64(v); n < 0 && n > -4096 {
			return fmt.Sprintf(" = -%d", -n)
		} else if n >= 0 && n < 1<<16 {
			return fmt.Sprintf(" = %d", n)
		}
		return fmt.Sprintf(" = %#x", v)
	}
	switch e.Kind {
	case tracer.EventCall:
		s := fmt.Sprintf("%s(%#x)", call("system call"), e.A)
		if e.B == tracer.Unanswered {
			return s
		}
		return s + result(e.B)
	case tracer.EventReturn:
		return call("system call") + " returns" + result(e.A)
	case tracer.EventFault:
		s := VectorName(uint64(e.Number & 0xff))
		if e.Number&0xff == 14 { // a page fault
			s += fmt.Sprintf(" at %#x, error code %#x", e.B, e.Number>>8)
		}
		return s
	case tracer.EventInterrupt:
		return fmt.Sprintf("interrupt %d", e.Number)
	case tracer.EventSwitch:
		return fmt.Sprintf("goes on with thread %d", e.Number)
	case tracer.EventIdle:
		return "idle"
	case tracer.EventWake:
		return fmt.Sprintf("wakes thread %d", e.Number)
	case tracer.EventLock:
		return fmt.Sprintf("has waited %d.%03d us for the kernel lock, %s", e.B/1000, e.B%1000,
			call("gate"))
	case tracer.EventSend:
		return fmt.Sprintf("sends interrupt %d to CPU %d", e.Number, e.A)
	}
	return e.Kind.String()
}

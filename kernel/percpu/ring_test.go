package percpu

import (
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// TestRing: the ring holds the events that were noted last, also after it has wrapped. The answer
// of a call is in its event if that is the latest, and else in an event of its own. A ring that has
// ended stays as it is.
func TestRing(t *testing.T) {
	room := make([]byte, 3*arch.RingSize)
	at := (uintptr(unsafe.Pointer(&room[0])) + arch.RingSize - 1) &^ (arch.RingSize - 1)
	begin := int(at - uintptr(unsafe.Pointer(&room[0])))
	for _, n := range []uint32{0, 1, RingEvents - 1, RingEvents, RingEvents + 1, 3 * RingEvents} {
		clear(room)
		r := new(Record)
		r.Note(EventWake, 1, 2, 3) // no ring yet
		if at := r.NoteCall(1, 2); at != arch.NotNoted {
			t.Fatalf("%d: the address %#x of an event where there is no ring", n, at)
		} else {
			r.Answer(at, 1, 2)
		}
		r.SetRing(at)
		r.Thread, r.CounterOffset = 1<<16|7, 1<<63
		for i := range n {
			r.Note(EventSwitch, i, uintptr(i)<<40, uintptr(i)<<41)
		}
		call := r.NoteCall(39, 5)
		r.Answer(call, 39, 77)
		late := r.NoteCall(40, 6)
		r.Note(EventWake, 9, 0, 0)
		r.Answer(late, 40, 78)
		r.EndRing()
		r.Note(EventIdle, 0, 0, 0)
		r.Answer(late, 40, 79)
		r.EndRing()
		want := []Event{
			{Kind: EventReturn, Number: 40, A: 78},
			{Kind: EventWake, Number: 9},
			{Kind: EventCall, Number: 40, A: 6, B: Unanswered},
			{Kind: EventCall, Number: 39, A: 5, B: 77},
		}
		for i := n; i > 0 && len(want) < RingEvents; i-- {
			want = append(want, Event{Kind: EventSwitch, Number: i - 1, A: uintptr(i-1) << 40, B: uintptr(i-1) << 41})
		}
		before := ^uint64(0)
		for i := range want {
			e, ok := r.EventBefore(uint32(i))
			if !ok {
				t.Fatalf("%d: there is no event %d", n, i)
			}
			want[i].Thread, want[i].When = 7, e.When
			if *e != want[i] || e.When < 1<<63 || e.When > before {
				t.Fatalf("%d: event %d is %+v behind one at %d; want %+v", n, i, *e, before, want[i])
			}
			before = e.When
		}
		if e, ok := r.EventBefore(uint32(len(want))); ok {
			t.Errorf("%d: there is one event too many: %+v", n, *e)
		}
		for i, b := range room {
			if b != 0 && (i < begin || i >= begin+arch.RingSize) {
				t.Fatalf("%d: byte %d of the room is %#x; the ring begins at %d", n, i, b, begin)
			}
		}
	}
}

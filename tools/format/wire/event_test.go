package wire

import (
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// TestEvents: an event is read as it was written, from a line and from words; and what is said of
// it.
func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		e          tracer.Event
		name       string
		line, what string
	}{
		{tracer.Event{Ago: 1520, Kind: tracer.EventCall, Thread: 3, Number: 1, A: 2, B: 12}, "write", "-1.520 call write n=1 a=0x2 result=0xc thread=3", "write(0x2) = 12"},
		{tracer.Event{Ago: 7, Kind: tracer.EventCall, Number: 202, A: 0xc000, B: tracer.Unanswered}, "futex", "-0.007 call futex n=202 a=0xc000", "futex(0xc000)"},
		{tracer.Event{Ago: 1 << 40, Kind: tracer.EventReturn, Thread: 1, Number: 0, A: 1<<64 - 11}, "read", "-1099511627.776 return read n=0 result=0xfffffffffffffff5 thread=1", "read returns = -11"},
		{tracer.Event{Kind: tracer.EventFault, Thread: 1, Number: 14 | 6<<8, A: 0x201000, B: 8}, "", "-0.000 fault vector=14 error=0x6 pc=0x201000 addr=0x8 thread=1", "#PF at 0x8, error code 0x6"},
		{tracer.Event{Kind: tracer.EventInterrupt, Number: 32, A: 0x201000}, "", "-0.000 interrupt vector=32 pc=0x201000", "interrupt 32"},
		{tracer.Event{Kind: tracer.EventSwitch, Thread: 4, Number: 4, A: 0x201000}, "", "-0.000 switch to=4 pc=0x201000 thread=4", "goes on with thread 4"},
		{tracer.Event{Kind: tracer.EventIdle}, "", "-0.000 idle", "idle"},
		{tracer.Event{Kind: tracer.EventWake, Thread: 2, Number: 5}, "", "-0.000 wake to=5 thread=2", "wakes thread 5"},
		{tracer.Event{Kind: tracer.EventLock, Number: 1, A: 0x201000, B: 15250}, "", "-0.000 lock gate=1 pc=0x201000 waited=15250", "has waited 15.250 us for the kernel lock, write"},
		{tracer.Event{Kind: tracer.EventSend, Number: 250, A: 3}, "", "-0.000 send vector=250 to=3", "sends interrupt 250 to CPU 3"},
	} {
		var b strings.Builder
		w := tracer.Writer{Put: func(c byte) { b.WriteByte(c) }}
		w.Event(&tt.e, tt.name)
		if got := b.String(); got != "zf1 event "+tt.line+"\r\n" {
			t.Errorf("%+v is written %q; want %q", tt.e, got, tt.line)
		}
		r := ParseLine("event " + tt.line)
		if r.Op != OpEvent || r.Bad || r.Event.Event != tt.e {
			t.Errorf("%q is read as %+v; want %+v", tt.line, r, tt.e)
		}
		if got := r.Event.What(); got != tt.what {
			t.Errorf("%q: %q; want %q", tt.line, got, tt.what)
		}
		words := []uint64{tt.e.Ago, uint64(tt.e.Kind) | uint64(tt.e.Thread)<<8 | uint64(tt.e.Number)<<32, tt.e.A, tt.e.B}
		records, ok := eventsOf(uint64(tracer.EventMark)+32, words)
		if !ok || len(records) != 1 || records[0].Event.Event != tt.e {
			t.Errorf("the words %x are read as %+v", words, records)
		} else if got := records[0].String(); got != "event "+tt.line {
			t.Errorf("the words %x are shown as %q; want %q", words, got, tt.line)
		}
	}
	for _, bad := range []string{"", "-1.5 call", "1.500 call", "-1.500", "-1.500 jump", "-x.500 idle", "-1.5x0 idle", "-1.500 call n=x"} {
		if r := ParseLine("event " + bad); !r.Bad {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
	for _, words := range [][]uint64{{1, 2, 3}, {1, 99, 3, 4}} {
		if records, _ := eventsOf(uint64(tracer.EventMark), words); len(records) > 0 {
			t.Errorf("the words %d are read as %+v", words, records)
		}
	}
	if _, ok := eventsOf(0x1000, []uint64{1, 1, 1, 1}); ok {
		t.Error("memory is taken for events")
	}
}

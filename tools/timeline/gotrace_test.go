package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// ev is an event that a thread made so many nanoseconds before the death.
func ev(ago uint64, kind tracer.EventKind, thread, number uint32, a, b uint64) wire.Event {
	return wire.Event{Event: tracer.Event{Ago: ago, Kind: kind, Thread: thread, Number: number, A: a, B: b}}
}

// read has the reader of the Go project read what WriteGo writes of all.
func read(t *testing.T, all []Timeline) (events []trace.Event) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteGo(&b, all); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

// story has a line for what a trace says of goroutines, with the processor.
func story(events []trace.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind() {
		case trace.EventStateTransition:
			st := e.StateTransition()
			if st.Resource.Kind == trace.ResourceGoroutine {
				from, to := st.Goroutine()
				fmt.Fprintf(&b, "P%d G%d %v->%v %s\n", e.Proc(), st.Resource.Goroutine(), from, to, st.Reason)
			}
		case trace.EventLog:
			fmt.Fprintf(&b, "P%d G%d %s: %s\n", e.Proc(), e.Goroutine(), e.Log().Category, e.Log().Message)
		case trace.EventRegionBegin, trace.EventRegionEnd:
			fmt.Fprintf(&b, "P%d G%d %v %s\n", e.Proc(), e.Goroutine(), e.Kind(), e.Region().Type)
		}
	}
	return b.String()
}

func TestGo(t *testing.T) {
	fault := ev(0, tracer.EventFault, 2, 14, 0x401000, 8)
	fault.Calls = []lookup.Call{{Function: "main.inner", File: "main.go", Line: 3, Inlined: true}, {Function: "main.f", File: "main.go", Line: 9}}
	l := Timeline{Why: "a death", CPUs: []CPU{
		{Number: 0, Events: []wire.Event{
			ev(9000, tracer.EventCall, 1, 1, 1, 5),                   // write, with its result
			ev(8000, tracer.EventCall, 1, 202, 7, tracer.Unanswered), // futex: it blocks
			ev(7000, tracer.EventSwitch, 1, 2, 0x401000, 0),
			ev(3000, tracer.EventWake, 2, 1, 0, 0),
			fault,
		}},
		{Number: 3, Events: []wire.Event{
			ev(8500, tracer.EventIdle, 0, 0, 0, 0),
			ev(6000, tracer.EventInterrupt, 0, 32, 0x402000, 0),
			ev(2000, tracer.EventSwitch, 0, 1, 0x401000, 0),
			ev(1500, tracer.EventReturn, 1, 202, 0, 0),
			ev(1000, tracer.EventSwitch, 2, 2, 0x401000, 0), // though it runs on CPU 0: the clocks differ
		}},
	}}
	l.settle()
	events := read(t, []Timeline{l})
	got := story(events)
	for _, want := range []string{
		"P0 G1 call: write(0x1) = 5\n",
		"P0 G1 RegionBegin futex(0x7)\n",
		"P0 G1 Running->Waiting system call futex\n",
		"P3 G65539 interrupt: interrupt 32\n",
		"P0 G1 Waiting->Runnable \n",
		"P3 G1 Runnable->Running \n",
		"P3 G1 RegionEnd futex(0x7)\n",
		"P3 G1 return: futex returns = 0\n",
		"P0 G2 fault: #PF at 0x8, error code 0x0\n",
		"P0 G2 death: a death\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var frames []string
	first, last := trace.Time(0), trace.Time(0)
	for _, e := range events {
		if e.Kind() == trace.EventLog && e.Log().Category == "fault" {
			for f := range e.Stack().Frames() {
				frames = append(frames, f.Func)
			}
		}
		if e.Kind() == trace.EventLog && e.Log().Category == "call" {
			first = e.Time()
		}
		if e.Kind() == trace.EventLog && e.Log().Category == "death" {
			last = e.Time()
		}
	}
	if strings.Join(frames, " ") != "main.inner main.f" {
		t.Errorf("the fault's stack is %v", frames)
	}
	if d := last - first; d < 8990 || d > 9020 { // the reader makes equal times differ by one, and rounds
		t.Errorf("from the first event to the death it is %d ns, want 9000", d)
	}
}

// TestGoMany: several traces, and far more events than one batch has room for.
func TestGoMany(t *testing.T) {
	var all []Timeline
	const lines, each = 3, 20000
	for range lines {
		l := Timeline{Why: "again", CPUs: []CPU{{}, {Number: 1}}}
		for i := range uint64(each) {
			c := &l.CPUs[i%2]
			c.Events = append(c.Events, ev(each-i, tracer.EventCall, uint32(1+i/7%5), 1, i, i))
		}
		l.settle()
		all = append(all, l)
	}
	calls, deaths := 0, 0
	for _, e := range read(t, all) {
		if e.Kind() == trace.EventLog {
			switch e.Log().Category {
			case "call":
				calls++
			case "death":
				deaths++
			}
		}
	}
	if calls != lines*each || deaths != lines {
		t.Errorf("%d calls and %d deaths, want %d and %d", calls, deaths, lines*each, lines)
	}
}

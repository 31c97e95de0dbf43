package page

// What the CPU did last, on a line of time: a picture, and the same as a table. A quiet time would
// take the most of it and leave no room for the last microseconds, of which there are the most
// events: the scale is logarithmic, each line of it ten times as far from the death as the next.

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// timeView is the picture of a CPU's latest events, and their table.
type timeView struct {
	CPU    string
	Height int
	Foot   int // where the scale's lines end
	From   string
	Death  string // where it is
	Rows   []timeRow
	Scale  []timeTick
	Events []timeEvent
	Left   int // events that are not shown
}

// timeRow is a line of the picture: what a thread does, or the CPU for none.
type timeRow struct {
	Name  string
	Y     int // of its text
	Line  int
	Marks []timeMark
}

// timeMark is an event. X and Width are percents.
type timeMark struct {
	X, Width string // Width is empty for what takes no time
	Top      int
	Class    string
	timeEvent
}

// timeTick is a time before the death.
type timeTick struct{ X, Text string }

// timeEvent is a row of the table.
type timeEvent struct {
	Ago, What, Where string
	Thread           uint32
}

const (
	timeRowHeight = 26
	timeHead      = 20 // above the first row
	// timeLeft is where the scale begins, in percents: names stand before it. It ends at timeRight.
	timeLeft, timeRight = 14.0, 97.0
	// timeNearest is the time before the death below which all is at the right edge, in ns.
	timeNearest = 100.0
)

// eventClasses are the classes of the kinds of events, which have their colours.
var eventClasses = map[tracer.EventKind]string{
	tracer.EventCall: "call", tracer.EventReturn: "call", tracer.EventFault: "fault",
	tracer.EventInterrupt: "irq", tracer.EventSwitch: "switch",
	tracer.EventIdle: "idle", tracer.EventWake: "wake", tracer.EventLock: "lock",
	tracer.EventSend: "wake",
}

// events returns the picture of a trace's events, nil if it has none.
func events(t *wire.Trace) *timeView {
	all := t.Events
	if len(all) == 0 {
		return nil
	}
	v := &timeView{CPU: strconv.FormatUint(t.CPU, 10), Left: max(len(all)-maxTimeEvents, 0)}
	all = all[v.Left:]
	first := timeNearest * 10
	for i := range all {
		first = max(first, float64(all[i].Ago))
	}
	// Decades from the first event to the death.
	span := math.Log10(first / timeNearest)
	at := func(ago uint64) float64 {
		far := math.Log10(max(float64(ago), timeNearest)/timeNearest) / span
		return timeRight - (timeRight-timeLeft)*min(far, 1)
	}
	for ns := timeNearest; ns <= first; ns *= 10 {
		v.Scale = append(v.Scale, timeTick{decimal(at(uint64(ns))), duration(ns)})
	}
	rows := map[uint32]int{}
	for i := range all {
		e := &all[i]
		in, ok := rows[e.Thread]
		if !ok {
			in = min(len(v.Rows), maxTimeRows)
			rows[e.Thread] = in
			if in == len(v.Rows) {
				y := timeHead + in*timeRowHeight
				v.Rows = append(v.Rows, timeRow{Name: rowName(e.Thread, in), Y: y + 17,
					Line: y + timeRowHeight/2})
			}
		}
		r := &v.Rows[in]
		m := timeMark{X: decimal(at(e.Ago)), Top: r.Line - 6, Class: cmp.Or(eventClasses[e.Kind], "call"),
			timeEvent: timeEvent{fmt.Sprintf("%d.%03d", e.Ago/1000, e.Ago%1000), e.What(), whereOf(e),
				e.Thread}}
		// What takes a time is a bar: a wait for the lock before its event; a call that blocks until its
		// thread has its result or makes the next call, as one that was to wait starts over.
		switch {
		case e.Kind == tracer.EventLock:
			from := at(e.Ago + e.B)
			m.X, m.Width = decimal(from), decimal(max(at(e.Ago)-from, .3))
			m.Class += " long"
		case e.Kind == tracer.EventCall && e.B == tracer.Unanswered:
			m.Width = decimal(max(at(answered(e.Thread, all[i+1:]))-at(e.Ago), .3))
			m.Class += " long"
		}
		r.Marks = append(r.Marks, m)
		v.Events = append(v.Events, m.timeEvent)
	}
	v.Foot = timeHead + len(v.Rows)*timeRowHeight
	v.Height = v.Foot + 4
	v.From, v.Death = decimal(timeLeft), decimal(timeRight)
	return v
}

// whereOf says where an event was.
func whereOf(e *wire.Event) (where string) {
	if len(e.Calls) > 0 {
		c := &e.Calls[0]
		if where = c.Function; c.File != "" {
			where += fmt.Sprintf(" at %s:%d", path.Base(c.File), c.Line)
		}
	}
	return where
}

// answered returns when a thread's call has ended, by the events after it; 0 if it has not.
func answered(thread uint32, later []wire.Event) uint64 {
	for i := range later {
		if e := &later[i]; e.Thread == thread &&
			(e.Kind == tracer.EventReturn || e.Kind == tracer.EventCall) {
			return e.Ago
		}
	}
	return 0
}

// rowName names a row: the last is all other threads'.
func rowName(thread uint32, row int) string {
	switch {
	case row == maxTimeRows:
		return "other threads"
	case thread == 0:
		return "no thread"
	}
	return fmt.Sprintf("thread %d", thread)
}

// branchView is a branch that a CPU took last.
type branchView struct {
	From, To string
	Cycles   uint32 // 0 if not known
	Missed   bool
}

// branches are those of a trace, the oldest first.
func branches(t *wire.Trace) (all []branchView) {
	for i := range t.Branches {
		b := &t.Branches[i]
		from, to := render.BranchEnds(b)
		all = append(all, branchView{from, to, b.Cycles, b.Missed})
	}
	return all
}

// duration is a power of ten of nanoseconds in words.
func duration(ns float64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns >= u.ns {
			return strconv.FormatFloat(math.Round(ns/u.ns), 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(math.Round(ns), 'f', -1, 64) + " ns"
}

package trace

import (
	"cmp"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// Timeline is what the CPUs of one machine did last.
type Timeline struct {
	CPUs []CPU
	// Died is when the machine died, in nanoseconds from the oldest event on, and Why the reason.
	Died uint64
	Why  string
}

// CPU is what one of them did, the oldest first. The events' Ago is how long before Died they were.
type CPU struct {
	Number uint64
	Events []wire.Event
}

// OfTrace returns the timeline of a trace; it has one CPU. ok is false if the trace has no events.
func OfTrace(t *wire.Trace) (l Timeline, ok bool) {
	if len(t.Events) == 0 {
		return l, false
	}
	l = Timeline{CPUs: []CPU{{t.CPU, slices.Clone(t.Events)}}, Why: t.Reason}
	l.settle()
	return l, true
}

// settle sorts the events and sets Died.
func (l *Timeline) settle() {
	for i := range l.CPUs {
		e := l.CPUs[i].Events
		slices.SortStableFunc(e, func(a, b wire.Event) int { return cmp.Compare(b.Ago, a.Ago) })
		if len(e) > 0 {
			l.Died = max(l.Died, e[0].Ago)
		}
	}
}

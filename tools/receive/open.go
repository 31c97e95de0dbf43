package receive

// The traces that are not whole yet. Of one machine a few may be open, of all
// machines together a bounded number of bytes; the one that was heard of least
// recently gives way. A trace of which nothing more comes is shown as far as it came.

import (
	"container/list"
	"slices"
	"time"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

const (
	// maxOpen is the number of traces that one machine may have open.
	maxOpen = 4
	// openCost is what an open trace takes in bytes without its parts.
	openCost = 1 << 10
)

// openTrace is a trace of which parts are missing.
type openTrace struct {
	m     *machine
	key   traceKey
	build string
	parts Trace
	cost  int // in bytes, as counted in Intake.held
	heard time.Time

	place *list.Element // in Intake.opened
}

// part takes a part of a trace that is not done.
func (in *Intake) part(m *machine, p *datagram.Part, now time.Time) {
	k := keyOf(p)
	var o *openTrace
	if i := slices.IndexFunc(m.open, func(o *openTrace) bool { return o.key == k }); i >= 0 {
		o = m.open[i]
	}
	switch {
	case o == nil:
		if len(m.open) >= maxOpen {
			in.giveUp(m.oldestOpen(), true)
		}
		o = &openTrace{m: m, key: k, build: string(p.Build), cost: openCost}
		in.held += o.cost
		m.open = append(m.open, o)
		o.place = in.opened.PushBack(o)
	case o.build != string(p.Build):
		in.stats.Conflict++
		return
	default:
		in.opened.MoveToBack(o.place)
	}
	o.heard = now
	before := o.parts.Held()
	whole, err := o.parts.Add(*p)
	if err != nil {
		in.stats.Conflict++
		return
	}
	if whole {
		in.whole(o, now)
		return
	}
	grown := o.parts.Held() - before
	if grown == 0 {
		in.stats.Repeated++
	}
	o.cost += grown
	in.hold(grown)
}

// hold counts n bytes more that are held, and makes room if that is too much: first
// by the open traces, then by the lines that wait for others.
func (in *Intake) hold(n int) {
	in.held += n
	for in.held > in.opt.MaxHeld && in.opened.Len() > 0 {
		in.giveUp(in.opened.Front().Value.(*openTrace), true)
	}
	if in.held <= in.opt.MaxHeld {
		return
	}
	for m := range in.waiting {
		in.finish(m)
	}
}

func (m *machine) oldestOpen() *openTrace {
	return slices.MinFunc(m.open, func(a, b *openTrace) int { return a.heard.Compare(b.heard) })
}

// whole hands on a trace that has all its parts.
func (in *Intake) whole(o *openTrace, now time.Time) {
	in.close(o, true)
	for _, each := range o.m.open {
		if each.key.boot == o.key.boot && each.key.seq == o.key.seq {
			in.stats.Incomplete++ // the same death, of which this is all
			in.close(each, false)
			break
		}
	}
	in.makeRegular(o.m)
	in.stats.Traces++
	a := o.arrival(now)
	a.Bytes, a.Cut = o.parts.Bytes()
	in.sink.Trace(a)
}

// arrival is what is known of a trace beside its bytes.
func (o *openTrace) arrival(when time.Time) *Arrival {
	return &Arrival{Machine: o.m.name, Addr: o.m.addr, Time: when, Boot: o.key.boot, Seq: o.key.seq}
}

// giveUp ends a trace that is not whole, and hands on what there is to show of it. Either
// nothing more came of it in time, or it was crowded out: its room was needed.
func (in *Intake) giveUp(o *openTrace, crowded bool) {
	in.close(o, false)
	in.stats.Incomplete++
	if crowded {
		in.stats.Crowded++
	}
	a := o.arrival(o.heard)
	a.Bytes, a.Missing = o.parts.Prefix(), o.parts.Missing()
	in.sink.Trace(a)
}

// close takes a trace out of the open ones, whole or not.
func (in *Intake) close(o *openTrace, whole bool) {
	m := o.m
	i, last := slices.Index(m.open, o), len(m.open)-1
	m.open[i], m.open[last] = m.open[last], nil
	m.open = m.open[:last]
	in.opened.Remove(o.place)
	in.held -= o.cost
	m.setDone(o.key, whole)
}

package timeline

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/gotrace"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// Go's execution trace, as `go tool trace` reads it (tools/gotrace). It knows goroutines, processors and system
// threads: a CPU is a processor with a system thread of the same number, and each of the kernel's threads is a
// goroutine of its number. What Go's trace has no word for is a log message, with the function as its stack; a system
// call that took until something else happened is a region.

const (
	goGeneration = 1
	noParent     = 0 // the task that regions and messages belong to: none
	// firstGoTime is when the trace begins: its reader takes 0 for no time.
	firstGoTime = 1000
)

// Goroutines of a timeline: its threads by their numbers, then what each CPU does without a thread.
const (
	goroutinesOfOne = 1 << 20
	goroutineOfCPU  = 1 << 16
)

// WriteGo writes timelines, one behind the other, for `go tool trace`.
func WriteGo(w io.Writer, all []Timeline) error {
	g := goWriter{tables: gotrace.NewTables(0), cpus: map[uint64]*goCPU{}, threads: map[uint64]*goThread{}}
	start := uint64(firstGoTime)
	for i := range all {
		g.timeline(&all[i], uint64(i)*goroutinesOfOne, start)
		start += all[i].Died + gap
	}
	_, err := w.Write(g.file())
	return err
}

// goWriter is a trace that is being made.
type goWriter struct {
	tables  *gotrace.Tables
	cpus    map[uint64]*goCPU
	threads map[uint64]*goThread // by goroutine
	batches []byte
}

// goCPU is a processor and its system thread.
type goCPU struct {
	number  uint64
	on      bool      // it is not idle
	seq     uint64    // of its changes from idle
	running *goThread // nil: none
	events  []byte    // of the batch that is being filled
	first   uint64    // its time
	last    uint64
}

// goThread is one of the kernel's threads.
type goThread struct {
	id      uint64
	seq     uint64 // of its changes
	on      *goCPU // it runs there
	ready   bool   // it could run
	calls   []goCall
	unknown bool // the trace has not said that there is it
}

// goCall is a system call that has not come back.
type goCall struct {
	number uint32
	name   string
}

// timeline adds a timeline that begins at start, whose goroutines are numbered from base on.
func (g *goWriter) timeline(l *Timeline, base, start uint64) {
	type place struct {
		cpu   *goCPU
		event *wire.Event
		at    uint64
	}
	var order []place
	for i := range l.CPUs {
		c := g.cpu(l.CPUs[i].Number, start)
		for j := range l.CPUs[i].Events {
			e := &l.CPUs[i].Events[j]
			order = append(order, place{c, e, start + l.Died - min(e.Ago, l.Died)})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for _, p := range order {
		g.event(p.cpu, p.event, base, p.at)
	}
	died := start + l.Died
	for i := range l.CPUs {
		c := g.cpu(l.CPUs[i].Number, start)
		if i == 0 {
			t := c.running
			if t == nil {
				t = g.thread(base+goroutineOfCPU+c.number, start)
			}
			g.run(c, t, died)
			g.log(c, "death", l.Why, 0, died)
		}
		g.rest(c, died)
	}
	// Behind a death no thread of it goes on.
	clear(g.threads)
}

// event adds an event of a CPU.
func (g *goWriter) event(c *goCPU, e *wire.Event, base, at uint64) {
	if e.Kind == tracer.EventIdle {
		g.rest(c, at)
		return
	}
	id := base + uint64(e.Thread)
	alone := e.Thread == 0 && c.running == nil // the CPU is in the kernel, for no thread
	if alone {
		id = base + goroutineOfCPU + c.number
	}
	if e.Thread != 0 || alone {
		g.run(c, g.thread(id, at), at)
	}
	t := c.running
	switch e.Kind {
	case tracer.EventSwitch: // the thread is the new one, or will be with the next event
		if e.Number != 0 && e.Number < goroutineOfCPU {
			g.run(c, g.thread(base+uint64(e.Number), at), at)
		}
	case tracer.EventWake:
		if e.Number != 0 && e.Number < goroutineOfCPU {
			if woken := g.thread(base+uint64(e.Number), at); woken.on == nil && !woken.ready {
				g.unblock(c, woken, at)
			}
		}
	case tracer.EventCall:
		if e.B != tracer.Unanswered {
			g.log(c, "call", e.What(), 0, at)
			break
		}
		name := e.What()
		t.calls = append(t.calls, goCall{e.Number, name})
		g.add(c, at, gotrace.RegionBegin, noParent, g.tables.Text(name), 0)
	case tracer.EventReturn:
		if n := len(t.calls) - 1; n >= 0 && t.calls[n].number == e.Number {
			g.add(c, at, gotrace.RegionEnd, noParent, g.tables.Text(t.calls[n].name), 0)
			t.calls = t.calls[:n]
		}
		g.log(c, e.Kind.String(), e.What(), 0, at)
	default:
		g.log(c, e.Kind.String(), e.What(), g.stack(e), at)
	}
	if alone && c.running == t {
		g.rest(c, at)
	}
}

// cpu returns a CPU, which is idle when it is first asked for.
func (g *goWriter) cpu(number, at uint64) *goCPU {
	c := g.cpus[number]
	if c == nil {
		c = &goCPU{number: number}
		g.cpus[number] = c
		g.add(c, at, gotrace.ProcStatus, number, gotrace.ProcIdle)
	}
	return c
}

// thread returns a thread.
func (g *goWriter) thread(id, at uint64) *goThread {
	t := g.threads[id]
	if t == nil {
		t = &goThread{id: id, unknown: true}
		g.threads[id] = t
	}
	return t
}

// declare says in which state a thread is when it is first seen.
func (g *goWriter) declare(c *goCPU, t *goThread, state, at uint64) {
	if !t.unknown {
		return
	}
	t.unknown = false
	t.ready = state == gotrace.GoRunnable
	name := fmt.Sprintf("thread %d", t.id%goroutinesOfOne)
	if cpu := t.id%goroutinesOfOne - goroutineOfCPU; cpu < goroutinesOfOne-goroutineOfCPU {
		name = fmt.Sprintf("CPU %d without a thread", cpu)
	}
	// A goroutine's name is that of the function at the bottom of its stack.
	stack := g.tables.Stack([]gotrace.Frame{{Call: lookup.Call{Function: name}}})
	g.add(c, at, gotrace.StatusStack, t.id, gotrace.NoThread, state, stack)
}

// run has a CPU run a thread.
func (g *goWriter) run(c *goCPU, t *goThread, at uint64) {
	if c.running == t {
		return
	}
	if other := t.on; other != nil { // its ring does not go back as far as this one's
		g.stop(other, at)
	}
	g.stop(c, at)
	if !c.on {
		c.on = true
		c.seq++
		g.add(c, at, gotrace.ProcStart, c.number, c.seq)
	}
	g.declare(c, t, gotrace.GoRunnable, at)
	if !t.ready {
		g.unblock(c, t, at)
	}
	t.seq++
	t.on, c.running = c, t
	g.add(c, at, gotrace.GoStart, t.id, t.seq)
}

// unblock says that a thread could run.
func (g *goWriter) unblock(c *goCPU, t *goThread, at uint64) {
	if t.unknown {
		g.declare(c, t, gotrace.GoWaiting, at)
	}
	t.ready = true
	t.seq++
	g.add(c, at, gotrace.GoUnblock, t.id, t.seq, 0)
}

// stop has a CPU run no thread.
func (g *goWriter) stop(c *goCPU, at uint64) {
	t := c.running
	if t == nil {
		return
	}
	c.running, t.on = nil, nil
	if n := len(t.calls) - 1; n >= 0 {
		t.ready = false
		g.add(c, at, gotrace.GoBlock, g.tables.Text("system call "+wire.CallName(t.calls[n].number)), 0)
		return
	}
	if t.ready = t.id%goroutinesOfOne < goroutineOfCPU; t.ready {
		g.add(c, at, gotrace.GoStop, g.tables.Text("preempted"), 0)
		return
	}
	g.add(c, at, gotrace.GoBlock, g.tables.Text("nothing to do"), 0)
}

// rest makes a CPU idle.
func (g *goWriter) rest(c *goCPU, at uint64) {
	g.stop(c, at)
	if c.on {
		c.on = false
		g.add(c, at, gotrace.ProcStop)
	}
}

func (g *goWriter) log(c *goCPU, kind, text string, stack, at uint64) {
	g.add(c, at, gotrace.Log, noParent, g.tables.Text(kind), g.tables.Text(text), stack)
}

// add adds one of Go's events to a CPU's.
func (g *goWriter) add(c *goCPU, at uint64, kind byte, args ...uint64) {
	if len(c.events) > gotrace.MaxBatch {
		g.flush(c)
	}
	if len(c.events) == 0 {
		c.first, c.last = at, at
	}
	at = max(at, c.last) // two CPUs' clocks may differ by a little
	c.events = gotrace.AppendEvent(c.events, kind, append([]uint64{at - c.last}, args...)...)
	c.last = at
}

// flush ends a CPU's batch.
func (g *goWriter) flush(c *goCPU) {
	g.batches = gotrace.AppendBatch(g.batches, goGeneration, c.number, c.first, c.events)
	c.events = nil
}

// stack returns the number of the stack of an event, 0 if it has none.
func (g *goWriter) stack(e *wire.Event) uint64 {
	pc, ok := e.PC()
	if !ok {
		return 0
	}
	if len(e.Calls) == 0 {
		return g.tables.Stack([]gotrace.Frame{{Call: lookup.Call{Function: fmt.Sprintf("%#x", pc)}, PC: pc}})
	}
	var frames []gotrace.Frame
	for _, c := range e.Calls {
		frames = append(frames, gotrace.Frame{Call: c, PC: pc})
	}
	return g.tables.Stack(frames)
}

// file returns the whole file.
func (g *goWriter) file() []byte {
	// The wall clock at that time is not known: it stays at 1970.
	sync := gotrace.AppendEvent([]byte{gotrace.Sync}, gotrace.Frequency, 1e9)
	sync = gotrace.AppendEvent(sync, gotrace.ClockSnapshot, 0, firstGoTime, 0, 0)
	g.batches = gotrace.AppendBatch(g.batches, goGeneration, gotrace.NoThread, firstGoTime, sync)
	for _, n := range slices.Sorted(maps.Keys(g.cpus)) {
		g.flush(g.cpus[n])
	}
	g.batches = g.tables.AppendTo(g.batches, goGeneration, firstGoTime)
	return append(append([]byte(gotrace.Header), g.batches...), gotrace.EndGeneration)
}

package trace

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// The trace event format (Google, "Trace Event Format", JSON object form): ph is the kind of a row,
// ts and dur are microseconds, pid and tid say on which line it is shown. A line is a CPU: one for
// what runs there, one for what it does.

type row struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   uint64         `json:"pid"`
	TID   uint64         `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Lines of a CPU.
const (
	lineRuns = 1 + iota
	lineDoes
)

// WritePerfetto writes timelines, one behind the other, as JSON for ui.perfetto.dev.
func WritePerfetto(w io.Writer, all []Timeline) error {
	var rows []row
	start := uint64(0)
	for i := range all {
		rows = all[i].rows(rows, start)
		start += all[i].Died + gap
	}
	return json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ns", "traceEvents": rows})
}

// gap is how far timelines are apart, in nanoseconds.
const gap = 1_000_000

// rows appends the rows of a timeline that begins at start.
func (l *Timeline) rows(rows []row, start uint64) []row {
	died := float64(start+l.Died) / 1e3
	for i := range l.CPUs {
		c := &l.CPUs[i]
		if start == 0 {
			rows = c.nameRows(rows)
		}
		open := map[[2]uint64]int{} // by thread and number of the call: its row
		running, runs := -1, ""
		run := func(what string, ts float64) {
			if what == runs {
				return
			}
			if running >= 0 {
				rows[running].Dur = new(ts - rows[running].TS)
			}
			if running, runs = -1, what; what != "" {
				running = len(rows)
				rows = append(rows, row{Name: what, Phase: "X", TS: ts, PID: c.Number, TID: lineRuns})
			}
		}
		for j := range c.Events {
			e := &c.Events[j]
			ts := float64(start+l.Died-min(e.Ago, l.Died)) / 1e3
			if e.Kind == tracer.EventIdle {
				run("idle", ts)
				continue
			}
			if e.Thread != 0 {
				run(fmt.Sprintf("thread %d", e.Thread), ts)
			}
			if e.Kind == tracer.EventSwitch {
				continue
			}
			key := [2]uint64{uint64(e.Thread), uint64(e.Number)}
			if k, ok := open[key]; ok && e.Kind == tracer.EventReturn {
				rows[k].Phase, rows[k].Scope, rows[k].Dur = "X", "", new(ts-rows[k].TS)
				rows[k].Args["result"] = int64(e.A)
				delete(open, key)
				continue
			}
			if e.Kind == tracer.EventCall && e.B == tracer.Unanswered {
				open[key] = len(rows)
			}
			rows = append(rows, c.eventRow(e, ts))
		}
		run("", died)
		for _, k := range open { // it did not come back
			rows[k].Phase, rows[k].Scope, rows[k].Dur = "X", "", new(died-rows[k].TS)
		}
	}
	if len(l.CPUs) > 0 {
		rows = append(rows, row{Name: "death: " + l.Why, Phase: "i", Scope: "g", TS: died,
			PID: l.CPUs[0].Number, TID: lineDoes})
	}
	return rows
}

// nameRows appends the names of a CPU and of its lines.
func (c *CPU) nameRows(rows []row) []row {
	for tid, name := range map[uint64]string{
		0: fmt.Sprintf("CPU %d", c.Number), lineRuns: "runs", lineDoes: "does",
	} {
		r := row{Name: "thread_name", Phase: "M", PID: c.Number, TID: tid,
			Args: map[string]any{"name": name}}
		if tid == 0 {
			r.Name = "process_name"
		}
		rows = append(rows, r)
	}
	return rows
}

// eventRow returns the row of an event at ts.
func (c *CPU) eventRow(e *wire.Event, ts float64) row {
	r := row{Name: e.What(), Phase: "i", Scope: "t", TS: ts, PID: c.Number, TID: lineDoes,
		Args: map[string]any{}}
	if e.Thread != 0 {
		r.Args["thread"] = e.Thread
	}
	if pc, ok := e.PC(); ok {
		r.Args["pc"] = fmt.Sprintf("%#x", pc)
	}
	if len(e.Calls) > 0 {
		r.Args["function"] = e.Calls[0].Function
		r.Args["place"] = fmt.Sprintf("%s:%d", e.Calls[0].File, e.Calls[0].Line)
	}
	if e.Kind == tracer.EventLock { // it is noted when the wait is over
		waited := min(float64(e.B)/1e3, ts)
		r.Phase, r.Scope, r.TS, r.Dur = "X", "", ts-waited, &waited
	}
	return r
}

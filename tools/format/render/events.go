package render

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// What a CPU did last, before it died.

// jsonEvent is an event. Which of the fields there are depends on its kind.
type jsonEvent struct {
	AgoNs    uint64  `json:"ago_ns"` // before the trace
	Kind     string  `json:"kind"`   // call, return, fault, interrupt, switch, idle, wake, lock, send
	Thread   uint32  `json:"thread,omitempty"`
	Number   *uint32 `json:"number,omitempty"` // of a system call, a vector, a thread
	Name     string  `json:"name,omitempty"`   // of the system call or the vector
	A        string  `json:"argument,omitempty"`
	Result   *int64  `json:"result,omitempty"`
	Address  string  `json:"address,omitempty"` // of a page fault
	CPU      *uint64 `json:"cpu,omitempty"`     // that an interrupt was sent to
	WaitedNs uint64  `json:"waited_ns,omitempty"`
	PC       string  `json:"pc,omitempty"`
	Function string  `json:"function,omitempty"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitempty"`
}

func eventJSON(e *wire.Event) jsonEvent {
	j := jsonEvent{AgoNs: e.Ago, Kind: e.Kind.String(), Thread: e.Thread}
	number := e.Number
	j.Number = &number
	switch e.Kind {
	case tracer.EventCall:
		j.Name, j.A = tracer.CallName(number), hexString(e.A)
		if e.B != tracer.Unanswered {
			result := int64(e.B)
			j.Result = &result
		}
	case tracer.EventReturn:
		result := int64(e.A)
		j.Name, j.Result = tracer.CallName(number), &result
	case tracer.EventFault:
		number &= 0xff
		j.Name = wire.VectorName(uint64(number))
		if number == vectorPage {
			j.Address = hexString(e.B)
		}
	case tracer.EventIdle:
		j.Number = nil
	case tracer.EventLock:
		j.WaitedNs = e.B
	case tracer.EventSend:
		cpu := e.A
		j.CPU = &cpu
	}
	if pc, ok := e.PC(); ok {
		j.PC = hexString(pc)
	}
	if len(e.Calls) > 0 {
		c := &e.Calls[0]
		j.Function, j.File, j.Line = c.Function, c.File, c.Line
	}
	return j
}

// vectorPage is the vector of a page fault.
const vectorPage = 14

// cpuOf names the CPU of a trace.
func cpuOf(t *wire.Trace) string {
	if t.HasCPU {
		return fmt.Sprintf("CPU %d", t.CPU)
	}
	return "the CPU"
}

// Events returns what the CPU of the trace did last as a table: the times in microseconds before
// its death, what it was, where, and the thread. It is nil if the trace has none but the death
// itself.
func Events(t *wire.Trace) (lines []string) {
	if len(t.Events) < 2 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("what %s did last, in us before its death:", cpuOf(t)))
	for i := range t.Events {
		e := &t.Events[i]
		s := fmt.Sprintf("%9d.%03d  %s", e.Ago/1000, e.Ago%1000, e.What())
		if len(e.Calls) > 0 {
			where := " in "
			if e.Kind == tracer.EventSwitch {
				where = ", at "
			}
			s += where + terminal.Clean(e.Calls[0].Function)
		}
		if e.Thread != 0 && e.Kind != tracer.EventSwitch {
			s += fmt.Sprintf("  (thread %d)", e.Thread)
		}
		lines = append(lines, s)
	}
	return lines
}

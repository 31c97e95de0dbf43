package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// TestCPU: what a trace says of its CPU arrives in each form; on a machine with one it says
// nothing.
func TestCPU(t *testing.T) {
	for _, form := range []tracer.Form{tracer.Text, tracer.Markup, tracer.Compact} {
		for _, c := range []struct {
			cpu, of uint32 // the writer's
			line    string
		}{
			{0, 0, "begin 4 trace kernel thread=1 goroutine=9 build=3f9a0c"},
			{1, 0, "begin 4 trace kernel thread=1 goroutine=9 cpu=0 build=3f9a0c"},
			{64, 300, "begin 4 trace kernel thread=1 goroutine=9 cpu=63 of=300 build=3f9a0c"},
		} {
			var b bytes.Buffer
			w := tracer.Writer{Form: form, Put: func(c byte) { b.WriteByte(c) }, CPU: c.cpu, Of: c.of}
			w.Begin(4, tracer.KindTrace, tracer.ContextKernel, 1, 9, []byte{0x3f, 0x9a, 0x0c}, 0x200000, 0x210000)
			w.Reason([]byte("stopped"))
			w.Done()
			h := new(oneTrace)
			p := NewParser(h)
			p.Write(b.Bytes())
			p.Close()
			tr := h.trace
			if tr == nil || tr.Damaged || tr.HasCPU != (c.cpu != 0) || tr.HasCPU && tr.CPU != uint64(c.cpu-1) || tr.Of != uint64(c.of) {
				t.Fatalf("form %d: %+v\n%s", form, tr, &b)
			}
			if !strings.Contains(strings.Join(h.lines, "\n"), c.line) {
				t.Errorf("form %d: %q has no line %q", form, h.lines, c.line)
			}
		}
	}
}

// oneTrace keeps the trace of a stream, and its lines.
type oneTrace struct {
	trace *Trace
	lines []string
}

func (h *oneTrace) Text(p []byte) {}
func (h *oneTrace) Line(l *Line)  { h.lines = append(h.lines, l.Record.String()) }
func (h *oneTrace) Done(t *Trace) { h.trace = t }

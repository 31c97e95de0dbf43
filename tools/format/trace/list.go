package trace

// A list of all goroutines is many traces, one after the other, and a line of text at its end. Of
// one that is whole, the host can say who waits for whom.

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// List is a list of all goroutines.
type List struct {
	// Traces are those of the list, and before them that of what ended the program, with those of
	// its other CPUs, if something did.
	Traces []*wire.Trace
	// All is how many goroutines the program has, Running how many of those run.
	All, Running int
	// Symbols is the image that they are of.
	Symbols lookup.Resolver
}

// maxList bounds the traces that are kept of a list.
const maxList = 1024

// lists gathers the traces of a list.
type lists struct {
	traces  []*wire.Trace
	symbols lookup.Resolver
	line    []byte // of the text that has come, its last line
	long    bool   // that is longer than any of ours
}

// trace takes a trace that has ended.
func (l *lists) trace(t *wire.Trace, sym lookup.Resolver) {
	if t.Format != "" || t.Previous > 0 {
		return
	}
	if t.Kind != tracer.KindTrace.String() && t.Of == 0 || len(l.traces) == maxList || sym == nil {
		l.traces = nil
	}
	if sym != nil {
		l.traces, l.symbols = append(l.traces, t), sym
	}
	l.line, l.long = l.line[:0], false
}

// has reports whether t is the latest trace of what may be a list.
func (l *lists) has(t *wire.Trace) bool {
	return len(l.traces) > 0 && l.traces[len(l.traces)-1] == t
}

// text takes text, and returns the list that has ended in it, or nil. Text between two goroutines
// says that they do not belong together, but for lines of ours in a log that is resolved already.
func (l *lists) text(p []byte) (done *List) {
	const maxLine = 120
	for len(p) > 0 && len(l.traces) > 0 {
		i := bytes.IndexByte(p, '\n')
		n := i + 1
		if i < 0 {
			n = len(p)
		}
		if l.long = l.long || len(l.line)+n > maxLine; !l.long {
			l.line = append(l.line, p[:n]...)
		}
		p = p[n:]
		if i < 0 {
			break
		}
		line := strings.TrimSpace(string(l.line))
		all, running, ok := ofList(line)
		switch {
		case ok && !l.long:
			done = &List{l.traces, all, running, l.symbols}
			l.traces = nil
		case line == "" && !l.long, strings.HasPrefix(line, hostTag),
			bytes.HasPrefix(l.line, []byte(callIndent)),
			strings.HasSuffix(line, " more goroutines are not shown"):
		case l.traces[len(l.traces)-1].Kind == tracer.KindTrace.String():
			l.traces = nil
		}
		l.line, l.long = l.line[:0], false
	}
	return done
}

// ofList reads the line that ends a list.
func ofList(line string) (all, running int, ok bool) {
	rest, ok := strings.CutPrefix(line, tracer.AllGoroutines)
	a, b, ok2 := strings.Cut(rest, tracer.OfThemRun)
	all, err := strconv.Atoi(a)
	running, err2 := strconv.Atoi(b)
	return all, running, ok && ok2 && err == nil && err2 == nil && running <= all
}

// list says who waits for whom, behind a list.
func (f *Filter) list(l *List) {
	if f.opt.OnList == nil || f.err != nil {
		return
	}
	f.send() // it takes time
	lines, json := f.opt.OnList(l)
	if len(lines) > 0 && f.column {
		f.newline()
	}
	from := len(f.buf)
	for _, s := range lines {
		f.put(f.paint(terminal.Red, hostTag+terminal.Clean(s)))
		f.buf = append(f.buf, f.ending...)
	}
	if len(lines) > 0 {
		f.inserted(from)
	}
	if end := []byte("}\n"); len(json) > 0 && bytes.HasSuffix(f.held, end) {
		f.held = append(f.held[:len(f.held)-len(end)], `,"waits":`...)
		f.held = append(append(f.held, bytes.TrimSpace(json)...), end...)
	}
	f.writeHeld()
}

// writeHeld writes the JSON that is held back. A list may come after all, if its end has been long
// on its way: then its last trace is without its field.
func (f *Filter) writeHeld() {
	if len(f.held) > 0 && f.err == nil {
		_, f.err = f.opt.JSON.Write(f.held)
	}
	f.held = nil
}

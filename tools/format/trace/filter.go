package trace

// Filter is the whole package as an io.Writer: serial output in, the same out
// with its traces resolved. Text is neither changed nor delayed; what the host
// has to say goes behind an address, into indented lines, or into lines that
// begin with "zf: ".

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/resolve"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Filter finds and resolves the traces in a stream. It is safe for concurrent
// use. Host.
type Filter struct {
	opt Options
	out io.Writer

	mu     sync.Mutex
	p      *wire.Parser
	buf    []byte // output of the call that runs
	san    terminal.Sanitizer
	column bool   // the output is not at the start of a line
	ending []byte // how the latest trace line ended
	room   []byte // of the latest place
	notes  []byte // lines of ours that wait for the start of a line
	again  again  // what of ours the input brings already
	lists  lists  // of goroutines
	held   []byte // the JSON of the latest trace, while it may be the last one of a list
	stats  Stats
	err    error // of the first write that failed
	timer  *time.Timer
	quiet  int // times that the timer has fired since there was input
	closed bool

	flushing bool   // what passes is released before its time
	loose    []byte // of that, what Options.Text has not got
	saved    int    // notSaved and so on
	part     []byte // the beginning of a line that may be the host's
	resolved bool   // a frame of the input was resolved already

	foreign *foreign.Reader // reads the text; nil: nobody does

	cur     *wire.Trace // the trace that ses belongs to
	ses     resolve.Session
	writes  uint64         // chunks of input so far
	imgs    *lookup.Images // nil until a trace has asked for them
	cache   resolve.Cache
	said    string // the latest message about a wrong build
	without bool   // it has been said that there are no symbols
}

// ErrClosed is returned by a Write after Close.
var ErrClosed = errors.New("trace: the filter is closed")

// NewFilter returns a filter that writes to out; out may be nil. The error is
// that of finding the current folder.
func NewFilter(out io.Writer, opt Options) (*Filter, error) {
	if out == nil {
		out = io.Discard
	}
	if opt.Log == nil {
		opt.Log = io.Discard
	}
	if opt.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("trace: current folder: %w", err)
		}
		opt.Dir = dir
	}
	f := &Filter{opt: opt, out: out, ending: []byte("\n"),
		san: terminal.Sanitizer{Columns: opt.Columns}}
	f.p = wire.NewParser((*events)(f))
	f.p.Prefixes = opt.Prefixes
	if opt.Foreign && (opt.Symbols != nil || opt.Images != nil) {
		fo := foreign.Options{Force: opt.Force, Guess: opt.Guess, Demangle: opt.Demangle, Log: opt.Log,
			Ours: source.IsContext, Images: f.images, Offsets: opt.Offsets,
			Rest: func() []byte { return f.p.Rest() }}
		if opt.JSON != nil || opt.OnTrace != nil {
			fo.Report = func(t *wire.Trace) { f.report(t, true) }
		}
		f.foreign = foreign.New(fo)
	}
	return f, nil
}

// chunk bounds the memory that one Write takes for its output. What is in one is looked up at
// once: of a unit's debug information each chunk costs a reading.
const chunk = 2 << 20

// sendAt is how many bytes of output are enough to be sent before a chunk has been read.
const sendAt = 256 << 10

// Write passes p through. What it resolves is out when it returns; so is text,
// but for a few bytes that may be the beginning of a trace line. The error is
// that of the output or of the JSON output.
func (f *Filter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, ErrClosed
	}
	for n := 0; n < len(p); {
		k := min(len(p)-n, chunk)
		f.writes++
		if f.foreign != nil {
			f.foreign.Forget()
		}
		f.p.Write(p[n : n+k])
		if err := f.send(); err != nil {
			return n, err
		}
		n += k
	}
	f.arm()
	return len(p), nil
}

// Working reports whether a call is at work, such as a Write. It may be called from any goroutine.
func (f *Filter) Working() bool {
	if !f.mu.TryLock() {
		return true
	}
	f.mu.Unlock()
	return false
}

// Flush releases what is held back. A trace line that goes on afterwards is
// still resolved. The beginning of a line that is one of ours so far waits for its next byte: in a
// log that is resolved already, a slow pipe would have it twice.
func (f *Filter) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.flush()
	return f.send()
}

func (f *Filter) flush() {
	f.flushing = true
	f.p.Flush()
	f.flushing = false
	if f.opt.Sanitize && !f.san.Erasing() {
		f.buf = f.san.Flush(f.buf)
	}
}

// Close ends the stream: everything is released, an open trace counts as cut.
// It does not close the outputs.
func (f *Filter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.err
	}
	f.closed = true
	f.end(true)
	return f.send()
}

// Cut says that the stream was interrupted: what comes next is the start of a
// line, perhaps of another machine. Everything is released, an open trace counts
// as cut, and a line that was cut ends here.
func (f *Filter) Cut() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.err
	}
	f.end(false)
	f.p = wire.NewParser((*events)(f))
	f.p.Prefixes = f.opt.Prefixes
	if f.foreign != nil {
		f.foreign.Cut()
	}
	if f.column {
		f.buf, f.column = append(f.buf, f.ending...), false
	}
	return f.send()
}

// end releases everything and cuts an open trace. The last line counts as whole, even
// without its end, if the input has ended by itself.
func (f *Filter) end(whole bool) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.p.Close()
	f.release()
	f.writeHeld()
	f.toText(nil) // what is loose
	if whole {
		f.lastLine()
	}
	if f.foreign != nil {
		f.foreign.EndGroup()
		f.foreign.Tell()
		f.foreign.TellLeft()
	}
	if f.opt.Sanitize {
		f.buf = f.san.Flush(f.buf)
	}
	f.flushNotes()
}

// Stats returns what has been seen so far.
func (f *Filter) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	if f.foreign != nil {
		s.Mismatch = s.Mismatch || f.foreign.Mismatch
		s.Lost, s.Left = f.foreign.Lost, f.foreign.Left
	}
	return s
}

// send writes out what the parser made.
func (f *Filter) send() error {
	if len(f.buf) > 0 && f.err == nil {
		_, f.err = f.out.Write(f.buf)
	}
	f.buf = f.buf[:0]
	return f.err
}

// events are the methods that the parser calls. They are not the Filter's own
// so that they stay out of its interface. f.mu is held.
type events Filter

// Text passes bytes through.
func (e *events) Text(p []byte) {
	f := (*Filter)(e)
	done := f.lists.text(p)
	before, p := f.again.text(p)
	f.pass(before)
	f.pass(p)
	switch {
	case done != nil:
		f.list(done)
	case len(f.lists.traces) == 0:
		f.writeHeld()
	}
}

// release lets out what is held since it might have been a line of ours.
func (f *Filter) release() { f.pass(f.again.release()) }

func (f *Filter) text(p []byte) {
	if len(p) == 0 {
		return
	}
	if f.opt.Sanitize {
		f.buf = f.san.Append(f.buf, p)
	} else {
		f.buf = append(f.buf, p...)
	}
	f.column = p[len(p)-1] != '\n'
	if !f.column && len(f.notes) > 0 {
		f.flushNotes()
	}
}

// Line shows a line of a trace and what is to be said about it.
func (e *events) Line(l *wire.Line) {
	f := (*Filter)(e)
	if l.Shown > 0 {
		f.loose = f.loose[:0] // it was of this line
	}
	f.release()
	if f.foreign != nil {
		f.foreign.Drop()
		f.foreign.EndGroup()
	}
	if l.Trace != nil && l.Trace != f.cur {
		f.start(l.Trace)
	}
	if len(l.Ending) > 0 {
		f.ending = append(f.ending[:0], l.Ending...)
	}
	if l.Trace != nil {
		if n := f.missed(l.Trace, &l.Record, l.Frame); n > 0 {
			if !f.column {
				l.Shown = 0 // the line begins anew
			}
			if l.Frame >= 0 {
				l.Frame += n
			}
		}
	}
	if l.Raw != nil {
		f.again.reset()
		f.part = nil
		if f.saved = notSaved; f.resolved {
			f.saved = savedLine
		}
	}
	f.line(l)
}

// Done counts and reports a trace that has ended.
func (e *events) Done(t *wire.Trace) {
	f := (*Filter)(e)
	f.release()
	if t != f.cur {
		f.start(t)
	}
	f.missed(t, nil, -1)
	if !t.Repeat {
		if notes, ok := f.ses.Unwind(t); ok {
			f.showUnwound(t)
			for _, n := range notes {
				f.note(n)
			}
		}
	}
	if f.ses.Arguments(t) {
		f.showArguments(t)
	}
	if f.ses.Watched(t); t.Watched != "" {
		f.note("the place is " + terminal.Clean(t.Watched))
	}
	f.ses.Events(t)
	for _, line := range append(render.Events(t), render.Branches(t)...) {
		f.note(line)
	}
	f.stats.Traces++
	if t.Fatal() {
		f.stats.Fatal++
	}
	if t.Damaged {
		f.stats.Damaged++
		f.note(render.DamageNote(t))
	}
	if t.Missing != "" {
		f.note(fmt.Sprintf("trace %d: %s", t.Seq, t.Missing))
	}
	if f.opt.OnList != nil {
		f.lists.trace(t, f.ses.Image())
	}
	// A word of a program that looks like one line of a trace is no trace.
	f.report(t, !(t.NoBegin && len(t.Frames) == 0))
	f.cur = nil
}

// report hands a trace on that has ended, as JSON only if inJSON.
func (f *Filter) report(t *wire.Trace, inJSON bool) {
	if f.opt.JSON != nil && inJSON {
		f.writeHeld()
		f.held = render.JSON(t)
		if !f.lists.has(t) {
			f.writeHeld()
		}
	}
	if f.opt.OnTrace != nil {
		f.opt.OnTrace(t)
	}
}

// start begins to resolve a trace, if it is one of this image.
func (f *Filter) start(t *wire.Trace) {
	f.cur, f.ses = t, resolve.Session{}
	if f.opt.OnBegin != nil {
		f.opt.OnBegin(t)
	}
	if f.opt.Symbols == nil && f.opt.Images == nil {
		if !f.without {
			f.without = true
			fmt.Fprintln(f.opt.Log, "zf: traces are not resolved: no ELF file was given")
		}
		return
	}
	if why := resolve.UnknownBuild(t); why != "" && !f.opt.Force {
		f.refuse(why)
		return
	}
	im := f.images()
	if im.Empty() {
		return // they could not be opened, which whoever tried has said
	}
	sym, why := resolve.Image(im, t)
	if why != "" && (!f.opt.Force || sym == nil) {
		if t.Previous > 0 {
			f.stats.MismatchBefore = true
		} else {
			f.stats.Mismatch = true
		}
		f.refuse(why)
		return
	}
	f.ses = f.cache.Session(sym)
}

// refuse tells the user why a trace is not resolved, unless that is what was told last.
func (f *Filter) refuse(why string) {
	if why != f.said {
		f.said = why
		fmt.Fprintln(f.opt.Log, "zf: "+why)
	}
}

// note adds a line of ours, at the next start of a line.
func (f *Filter) note(s string) {
	// A line that has been shown in part is finished first.
	if f.column && f.again.had([]byte(hostTag+s+string(f.ending))) {
		return
	}
	f.notes = append(f.notes, f.paint(terminal.Red, hostTag+s)...)
	f.notes = append(f.notes, f.ending...)
	if !f.column {
		f.flushNotes()
	}
}

func (f *Filter) flushNotes() {
	if len(f.notes) == 0 {
		return
	}
	if f.column {
		f.buf = append(f.buf, f.ending...)
	}
	from := len(f.buf)
	f.buf = append(f.buf, f.notes...)
	f.notes, f.column = f.notes[:0], false
	f.inserted(from)
}

// path returns how a file is shown: relative if it lies under Dir.
func (f *Filter) path(file string) string {
	return terminal.Clean(source.Relative(f.opt.Dir, file))
}

// images returns the images of the stream, and waits for them if they are late.
// What has been found in the stream so far is out before.
func (f *Filter) images() *lookup.Images {
	if f.imgs != nil {
		return f.imgs
	}
	if f.opt.Images != nil {
		f.send()
		f.imgs = f.opt.Images()
	} else if f.opt.Symbols != nil {
		f.imgs = &lookup.Images{Given: []lookup.Resolver{f.opt.Symbols}, Bias: f.opt.Bias}
	}
	if f.imgs == nil {
		f.imgs = &lookup.Images{}
	}
	return f.imgs
}

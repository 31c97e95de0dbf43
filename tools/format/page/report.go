package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tools/format/profile"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Options say how a page is made.
type Options struct {
	// Title stands above the page, and is what a browser's tab says.
	Title string
	// Images are what addresses are looked up in; nil: nothing. Force takes traces of
	// another build too.
	Images *lookup.Images
	Force  bool
	// Guess takes every number in the log's text that can be an address of the code for
	// one.
	Guess bool
	// Demangle shows the functions of C++ and Rust as the source names them.
	Demangle bool
	// Sources finds source files; nil: from Dir. Context is how many lines before and
	// behind each frame's line are shown; negative: no source.
	Sources *source.Finder
	Context int
	// Dir is the folder to which paths are told relative if they lie in it.
	Dir string
	// Facts stand below the title, in this order.
	Facts []Fact
	// Waits is who waited for whom; nil: not known.
	Waits *Waits
	// List, without Waits, finds that out from a list of all goroutines in the log; the last one
	// of which it says something counts. nil: nobody does.
	List func(*trace.List) *Waits
	// Why is what the death came from; nil: not known.
	Why *Why
	// Log takes messages for the user; nil: none.
	Log io.Writer
}

// Waits is who waited for whom when a program stopped: sentences, and a picture of them, SVG in
// which all text is escaped (tools/postmortem/waits).
type Waits struct {
	Findings []string
	Picture  template.HTML
}

// A Fact is something to know, with its name.
type Fact struct{ Name, Value string }

// Report takes a log, as an io.Writer, and makes a page of it. It is not safe for
// concurrent use.
type Report struct {
	opt    Options
	stream *eventstream.Text
	filter *trace.Filter
	log    logText
	notes  notes

	owners lookup.Owners

	listed    *Waits // what the log says of who waited for whom
	count     int    // of traces
	first     []*traceView
	last      []*traceView
	left      int // traces between
	profiles  []*flameView
	snapshots []*handlesView
}

// New returns a Report without a log.
func New(opt Options) (*Report, error) {
	if opt.Log == nil {
		opt.Log = io.Discard
	}
	if opt.Images == nil {
		opt.Images = &lookup.Images{}
	}
	if opt.Sources == nil {
		opt.Sources = source.New(opt.Dir, nil)
	}
	r := &Report{opt: opt}
	var err error
	r.filter, err = trace.NewFilter(nil, trace.Options{
		Images: func() *lookup.Images { return r.opt.Images },
		Force:  opt.Force, Foreign: true, Guess: opt.Guess, Demangle: opt.Demangle, Prefixes: true,
		Dir: opt.Dir,
		Log: io.MultiWriter(r.opt.Log, &r.notes), OnTrace: r.trace, OnList: r.list,
	})
	if err != nil {
		return nil, err
	}
	for _, sym := range r.opt.Images.Given {
		if n, ok := sym.(lookup.NameResolver); ok {
			for _, f := range n.Named("runtime.goexit") {
				for _, c := range sym.Lookup(f.Start, false) {
					r.owners.Learn(&c)
				}
			}
		}
	}
	r.stream = eventstream.NewText(lines{r}, eventstream.Options{
		OnRecord: func(rec eventstream.Record) {
			if err := r.Record(rec.Kind, rec.Data); err != nil {
				r.note("record %d (%s): %v", rec.ID, name(rec.Kind), err)
			}
		},
		OnDamage: func(d eventstream.Damage) { r.note("%v", d) },
	})
	return r, nil
}

// Because says why the machine died, where that is found out after the log was read.
func (r *Report) Because(why *Why) { r.opt.Why = why }

// lines gives the log to the filter line by line, so that it is known which line a trace
// ends with.
type lines struct{ r *Report }

func (l lines) Write(p []byte) (int, error) {
	return len(p), l.r.log.write(p, func(part []byte) error {
		_, err := l.r.filter.Write(part)
		return err
	})
}

// Write takes the next bytes of the log.
func (r *Report) Write(p []byte) (int, error) { return r.stream.Write(p) }

// Cut says that the log has broken off and may begin anew.
func (r *Report) Cut() error {
	if err := r.stream.Cut(); err != nil {
		return err
	}
	r.log.end()
	return r.filter.Cut()
}

// Close ends the log.
func (r *Report) Close() error {
	err := r.stream.Close()
	r.log.end()
	return cmp.Or(err, r.filter.Close())
}

// Traces returns how many traces the log had, when it has ended.
func (r *Report) Traces() int { return r.count }

// Stats says what the log had, when it has ended.
func (r *Report) Stats() trace.Stats { return r.filter.Stats() }

// Record takes a record of the target that came another way than between the text of the
// log: its kind, and its data or, for a snapshot, what [handle.Snapshot.WithNames] made
// of them. One of a kind that the page cannot show is an error.
func (r *Report) Record(kind string, data []byte) error {
	switch kind {
	case profile.Kind:
		rec, err := profile.Read(data)
		if err != nil {
			return err
		}
		sym := r.file("")
		if sym == nil {
			return fmt.Errorf("no ELF file was given to name its functions with")
		}
		p, err := rec.Pprof(sym)
		if err != nil {
			return err
		}
		if rec.Lost > 0 {
			r.note("%d of the profile's %d ticks were lost, no room for their stacks (depot=%d)", rec.Lost,
				rec.Ticks, rec.Stacks.Size)
		}
		return r.Profile(p)
	case handle.Kind:
		s, err := handle.Read(data)
		if err != nil {
			return err
		}
		if sym := r.file(s.BuildID); sym != nil && !s.Named() {
			s.Resolve(sym)
		}
		r.snapshots = keep(r.snapshots, r.handles(s))
		return nil
	}
	return fmt.Errorf("the page has no place for records of this kind")
}

// Profile takes a profile whose functions have names.
func (r *Report) Profile(p *pprof.Profile) error {
	v, err := flame(p)
	if err == nil {
		r.profiles = keep(r.profiles, v)
	}
	return err
}

// keep appends to what is shown, of which the oldest may have to go.
func keep[T any](all []T, v T) []T {
	if len(all) == maxRecords {
		all = all[1:]
	}
	return append(all, v)
}

// file returns the ELF file of a build, or, of none or with Force, the first; nil if it
// is not there.
func (r *Report) file(build string) *symbol.File {
	for _, sym := range r.opt.Images.Given {
		if f, ok := sym.(*symbol.File); ok && (build == "" || r.opt.Force || f.BuildID() == build) {
			return f
		}
	}
	if build == "" {
		return nil
	}
	f, _ := r.opt.Images.Other(build, "").(*symbol.File)
	return f
}

// note says something on the page and to the user.
func (r *Report) note(format string, a ...any) {
	fmt.Fprintf(io.MultiWriter(r.opt.Log, &r.notes), "zf: "+format+"\n", a...)
}

// notes keeps messages for the page, each once.
type notes struct{ all []string }

// maxNotes is how many messages the page shows.
const maxNotes = 20

func (n *notes) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		s := visible(strings.TrimPrefix(strings.TrimSpace(string(line)), "zf: "), maxReason)
		if s != "" && len(n.all) < maxNotes && !slices.Contains(n.all, s) {
			n.all = append(n.all, s)
		}
	}
	return len(p), nil
}

// trace takes a trace when it has ended.
func (r *Report) trace(t *wire.Trace) {
	if len(t.Frames) == 0 && t.Reason == "" && len(t.Registers) == 0 {
		return
	}
	if t.Repeat && !t.Damaged {
		if v := r.original(t); v != nil {
			v.Again++
			return
		}
	}
	r.count++
	r.log.endsHere(r.count)
	v := r.traceView(t, r.count)
	if len(r.first) < firstTraces {
		r.first = append(r.first, v)
		return
	}
	if r.last = append(r.last, v); len(r.last) > lastTraces {
		r.left++
		r.last = append(r.last[:0], r.last[1:]...)
	}
}

// original returns the trace that t is once more, if it is shown.
func (r *Report) original(t *wire.Trace) *traceView {
	for _, all := range [][]*traceView{r.last, r.first} {
		for _, v := range slices.Backward(all) {
			if v.seq == t.RepeatOf && v.build == t.BuildID {
				return v
			}
		}
	}
	return nil
}

// list takes a list of all goroutines.
func (r *Report) list(l *trace.List) (lines []string, json []byte) {
	if r.listed == nil && r.opt.Waits != nil || r.opt.List == nil {
		return nil, nil
	}
	if w := r.opt.List(l); w != nil {
		r.opt.Waits, r.listed = w, w
	}
	return nil, nil
}

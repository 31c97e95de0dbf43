package page

// What the page says of a trace. It is made when the trace has come, so that of thousands
// of them no more than this is kept.

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// traceView is a trace.
type traceView struct {
	ID       int    // its number in the log, from 1
	Class    string // of its heading: "fatal", "asked", "before" or "foreign"
	Kind     string // in words
	Reason   string
	Where    string // the function to name, and its place
	Facts    []Fact
	Troubles []string
	Frames   []*frameView

	Registers []valueView
	Words     []valueView
	Stacks    []wire.Stack
	Before    []lineView
	Events    *timeView // what its CPU did last; nil: the trace does not say
	Branches  []branchView

	Goroutine, Thread uint64
	State             string // of a goroutine that does not run
	wait              string // State without the time
	waited            int    // s; 0: not known
	count             int    // goroutines that wait alike
	members           []string
	Others            []int // IDs of the other traces that this one stands for
	Tasks             *tasksView
	CPU               uint64       // its number
	CPUs              []*traceView // those of the other CPUs, of a death with several
	of                uint64       // of another CPU's trace: the number of the death's
	listed            bool         // a goroutine that was listed with the trace before it
	Again             int          // times that the machine told it again, in a line
	seq               uint64
	traceback         bool // the Go runtime's own words of a goroutine
	InLog             bool // the line that ends it is shown
	Folded            bool // it is seen when it is wanted
	fatal             bool
	build             string
}

// kinds are the kinds of traces in words.
var kinds = map[string]string{
	tracer.KindPanic.String(): "Panic",
	tracer.KindFault.String(): "Fault",
	tracer.KindOOM.String():   "Out of memory",
	tracer.KindNMI.String():   "NMI",
	tracer.KindTrace.String(): "Trace",
	foreign.FormatLinux:       "Linux",
	foreign.FormatGo:          "Go",
}

func (r *Report) traceView(t *wire.Trace, id int) *traceView {
	sym := r.resolver(t)
	v := &traceView{ID: id, Reason: visible(t.Reason, maxReason), Goroutine: t.Goroutine,
		Thread: t.Thread, CPU: t.CPU, of: t.Of, fatal: t.Fatal(), build: t.BuildID, seq: t.Seq}
	v.Kind = cmp.Or(kinds[t.Kind], name(cmp.Or(t.Kind, "Trace")))
	switch {
	case t.Format != "":
		v.Class = "foreign"
	case t.Previous > 0:
		v.Class = "before"
	case t.Fatal():
		v.Class = "fatal"
	default:
		v.Class = "asked"
	}
	v.listed = t.Of == 0 && t.Format == "" && t.Previous == 0 && t.Goroutine > 0 &&
		t.Kind == tracer.KindTrace.String() && !t.Damaged
	if v.traceback = t.Format == foreign.FormatGo; v.listed || v.traceback {
		v.State = goroutineState(v.Reason)
	}
	v.facts(t)
	for _, s := range render.Troubles(t, sym) {
		v.Troubles = append(v.Troubles, visible(s, maxReason))
	}
	r.frames(v, t)
	v.Registers = registers(t, sym)
	v.Stacks = stacks(t, v.listed)
	v.Events = events(t)
	v.Branches = branches(t)
	if !v.listed {
		v.Words = words(t, sym)
		if !v.traceback { // which is text, and stands before the trace of the same death
			v.Before = r.log.linesBefore()
		}
	}
	return v
}

// resolver returns the image of the trace, or nil.
func (r *Report) resolver(t *wire.Trace) lookup.Resolver {
	if t.Format != "" {
		return nil // where it ran is not known
	}
	for _, sym := range r.opt.Images.Given {
		if r.opt.Force || sym.BuildID() == t.BuildID {
			return sym
		}
	}
	if t.BuildID == "" {
		return nil
	}
	return r.opt.Images.Other(t.BuildID, "")
}

// facts are what there is to know besides the frames.
func (v *traceView) facts(t *wire.Trace) {
	fact := func(name, value string) { v.Facts = append(v.Facts, Fact{name, visible(value, maxName)}) }
	if t.Cause != nil {
		fact("cause", t.Cause.String())
	}
	if t.Context != "" {
		fact("context", t.Context)
	}
	if t.HasCPU {
		fact("cpu", fmt.Sprint(t.CPU))
	}
	if t.Goroutine != 0 {
		fact("goroutine", fmt.Sprint(t.Goroutine))
	}
	if t.Thread != 0 {
		fact("thread", fmt.Sprint(t.Thread))
	}
	if t.Previous > 0 {
		fact("from", fmt.Sprintf("the boot before this one, the %s death that this RAM has seen",
			ordinal(t.Previous)))
	}
	if t.Repeat && t.RepeatOf != 0 { // which did not arrive
		fact("the same as", fmt.Sprintf("the machine's trace %d, once more", t.RepeatOf))
	}
	if t.Seq != 0 && t.Format == "" {
		fact("number", fmt.Sprintf("%d since the machine's start", t.Seq))
	}
	if t.BuildID != "" {
		fact("build", t.BuildID)
	}
	if t.Format == "" && !t.Damaged && t.Complete() {
		fact("frames", fmt.Sprintf("%d, complete", t.Depth()))
	}
}

func ordinal(n uint64) string {
	end := "th"
	if tens := n / 10 % 10; tens != 1 {
		end = cmp.Or(map[uint64]string{1: "st", 2: "nd", 3: "rd"}[n%10], end)
	}
	return fmt.Sprint(n) + end
}

// goroutineState takes the state out of "goroutine 7 [chan receive]".
func goroutineState(reason string) string {
	_, s, ok := strings.Cut(reason, "[")
	if !ok {
		return reason
	}
	s, _, _ = strings.Cut(s, "]")
	return s
}

// Short is what a table of contents says.
func (v *traceView) Short() string {
	s := strings.TrimSpace(v.Reason)
	if s == "" {
		s = "no reason given"
	}
	if r := []rune(s); len(r) > 120 {
		s = string(r[:119]) + "…"
	}
	return s
}

package page

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// frameView is a call: of an address that is in inlined calls there are several.
type frameView struct {
	Number   string // "#3"; "" for a call that the one before was inlined into
	Function string
	Mark     string
	Place    string // file and line
	Address  string
	How      string // how the address was found
	Stack    string
	Boundary string // a trap, instead of a function
	Source   []sourceView
	Open     bool // the source is seen at once
	Library  bool // it is of the runtime or the standard library
	Gap      int  // instead of a call: so many are left out

	plain string // Function without the distance to its entry
	file  string
	line  int
}

// sourceView is a line of source.
type sourceView struct {
	Number int
	Text   string
	Here   bool
}

// hows says in words how an address was found.
var hows = map[tracer.Kind]string{
	tracer.PC:       "exact",
	tracer.RA:       "return address",
	tracer.Inferred: "inferred",
	tracer.Scan:     "guess",
}

// frames makes the calls of a trace, and finds the one to name.
func (r *Report) frames(v *traceView, t *wire.Trace) {
	for i := range t.Frames {
		for k := range t.Frames[i].Calls {
			r.owners.Learn(&t.Frames[i].Calls[k])
		}
	}
	stack, at := "", uint64(0) // the number of the frame that comes
	frame, number, told := t.Culprit()
	var tell, innermost *frameView
	for i := range t.Frames {
		if len(v.Frames) > 2*maxFrames { // of which most are inlined calls
			v.Frames = append(v.Frames, &frameView{Gap: len(t.Frames) - i})
			break
		}
		f := &t.Frames[i]
		at += f.Elided
		count := at
		at += 1 + f.Repeat
		if f.Elided > 0 {
			v.Frames = append(v.Frames, &frameView{Gap: int(min(f.Elided, math.MaxInt))})
		}
		if n := len(t.Frames); n > maxFrames && i >= maxFrames-lastFrames && i < n-lastFrames {
			if i == maxFrames-lastFrames {
				v.Frames = append(v.Frames, &frameView{Gap: n - maxFrames})
			}
			continue
		}
		base := frameView{Number: fmt.Sprintf("#%d", count), How: hows[f.Kind],
			Address: fmt.Sprintf("%#x", f.Address)}
		if f.Quoted && f.Address == 0 {
			base.Address, base.How = "", "quoted"
		}
		if f.Stack != stack {
			base.Stack, stack = name(f.Stack), f.Stack
		}
		switch {
		case f.Kind == tracer.Trap:
			base.Boundary, base.How = f.Trap(), ""
		case len(f.Calls) == 0:
			base.Function, base.plain = base.Address, base.Address
		}
		if len(f.Calls) == 0 {
			v.Frames = append(v.Frames, &base)
			if innermost == nil && base.Boundary == "" {
				innermost = &base
			}
			continue
		}
		for k := range f.Calls {
			c := &f.Calls[k]
			call := base
			function, mark := render.CallName(f, c)
			mark += " " + render.Arguments(f, k)
			if k == len(f.Calls)-1 && f.Repeat > 0 {
				mark += fmt.Sprintf(" ... %d more of the same frame", f.Repeat)
			}
			call.Function, call.Mark = name(function), name(strings.TrimSpace(mark))
			call.plain = name(cmp.Or(c.Function, function))
			call.file, call.line = c.File, c.Line
			call.Place = place(c, r.opt.Dir)
			call.Library = r.library(c)
			if k > 0 {
				call.Number, call.Address, call.How, call.Stack = "", "", "", ""
			}
			v.Frames = append(v.Frames, &call)
			if innermost == nil && base.Boundary == "" {
				innermost = &call
			}
			if told && i == frame && k == number {
				tell = &call
			}
		}
	}
	if f := cmp.Or(tell, innermost); f != nil {
		f.Open = true
		v.Where = f.plain
		if f.Place != "" {
			v.Where += " at " + f.Place
		}
	}
}

// place is a call's file and line.
func place(c *lookup.Call, dir string) string {
	if c.File == "" {
		return ""
	}
	file := c.File
	if rel, err := filepath.Rel(dir, file); dir != "" && err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	file = name(file)
	if c.Line > 0 {
		file += ":" + strconv.Itoa(c.Line)
	}
	return file
}

// library reports whether a call is of Go's runtime or standard library.
func (r *Report) library(c *lookup.Call) bool {
	r.owners.Learn(c)
	of := r.owners.Of(c)
	return of == lookup.Runtime || of == lookup.Standard
}

// A budget is what is left of a page's limits.
type budget struct{ frames, source, before, stacks, words, events int }

// fit returns what there is, if so many are left, of which it takes them.
func fit[T any](all []T, left *int) []T {
	if *left -= len(all); *left < 0 {
		return nil
	}
	return all
}

// trim bounds what there is of a trace by what is left for it, and finds its source.
func (r *Report) trim(v *traceView, left *budget) {
	if room := max(left.frames, fewFrames); len(v.Frames) > room {
		v.Frames = append(v.Frames[:room:room], &frameView{Gap: len(v.Frames) - room})
	}
	left.frames -= min(left.frames, len(v.Frames))
	for _, line := range v.Before {
		for _, s := range line.Text {
			left.before -= len(s.Text) + 10
		}
	}
	if left.before < 0 {
		v.Before = nil
	}
	v.Stacks, v.Words = fit(v.Stacks, &left.stacks), fit(v.Words, &left.words)
	if v.Events != nil && fit(v.Events.Events, &left.events) == nil {
		v.Events = nil
	}
	v.Branches = fit(v.Branches, &left.events)
	if r.opt.Context < 0 {
		return
	}
	for _, f := range v.Frames {
		if f.file == "" || f.line <= 0 || left.source <= 0 {
			continue
		}
		for _, l := range r.opt.Sources.Lines(f.file, f.line, r.opt.Context) {
			f.Source = append(f.Source, sourceView{l.Number, visible(l.Text, maxName), l.Number == f.line})
			left.source -= len(l.Text) + 40
		}
	}
}

package page

// What a snapshot of resources says: sums, what is open by the stack that opened it, what
// was closed twice, and the last events.

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// handlesView is a snapshot as the page shows it.
type handlesView struct {
	*handle.Snapshot
	r       *Report
	Notes   []string
	Kinds   []kindView
	Doubles []handle.Double
	Events  []handle.Event
	Left    int // events that are not shown
}

// kindView is a kind of resources.
type kindView struct {
	handle.Stats
	Groups []groupView
	Left   int // groups that are not shown
}

// groupView is what one stack has opened.
type groupView struct {
	*handle.Group
	Count uint64
	Since time.Duration
	Shown []handle.Handle
	Left  int // handles that are not shown
}

// stackTrace is a stack of a log.
type stackTrace struct {
	Calls    []callView
	Known    bool
	Complete bool
	Left     int // frames that are not shown
	Where    string
}

type callView struct {
	Function, Place string
	Library         bool // it is of the runtime or the standard library
}

func (r *Report) handles(s *handle.Snapshot) *handlesView {
	v := &handlesView{Snapshot: s, r: r, Doubles: s.Doubles}
	note := func(n uint64, format string, a ...any) {
		if n > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%d "+format, append([]any{n}, a...)...))
		}
	}
	note(s.Overflow, "things are missing: the table was full (record.open=%d)", s.TableRoom)
	note(s.Stacks.Full, "stacks are missing: the depot was full (depot=%d)", s.Stacks.Size)
	if !s.Named() {
		v.Notes = append(v.Notes,
			fmt.Sprintf("its stacks have no names: no ELF file of build %s was given", name(s.BuildID)))
	}
	for _, k := range s.Kinds {
		if k.Opens+k.Strays == 0 || len(v.Kinds) == maxKinds {
			continue
		}
		kind := kindView{Stats: k}
		for i, g := range s.Groups(k.ID) {
			if i >= maxGroups {
				kind.Left++
				continue
			}
			n := min(len(g.Handles), maxKeys)
			kind.Groups = append(kind.Groups, groupView{g, uint64(len(g.Handles)), g.Handles[0].Time,
				g.Handles[:n], len(g.Handles) - n})
		}
		v.Kinds = append(v.Kinds, kind)
	}
	if n := len(s.Doubles); n > maxGroups {
		v.Doubles = s.Doubles[:maxGroups]
		note(uint64(n-maxGroups), "more were closed twice")
	}
	v.Left = max(len(s.Log)-maxEvents, 0)
	v.Events = s.Log[v.Left:]
	if n := uint64(len(s.Log)); s.Events > n {
		v.Left += int(min(s.Events-n, 1<<52))
	}
	return v
}

// Key names something of a kind.
func (v *handlesView) Key(kind, key uint64) string {
	return name(v.Kind(kind).Name) + " " + handle.KeyName(kind, key)
}

// Stack returns the calls of a stack.
func (sn *handlesView) Stack(id uint32) stackTrace {
	if id == 0 {
		return stackTrace{}
	}
	frames, complete := sn.Snapshot.Stack(id)
	r, v := sn.r, stackTrace{Known: true, Complete: complete}
	add := func(c callView) {
		if len(v.Calls) == maxHandleFrames {
			v.Left++
			return
		}
		v.Calls = append(v.Calls, c)
	}
	for _, f := range frames {
		switch {
		case f.Kind == tracer.Trap && f.Vector == tracer.VectorSyscall: // its caller has it in its name
		case f.Kind == tracer.Trap:
			add(callView{Function: "(" + tracer.VectorName(min(f.Vector, tracer.VectorSignal)) + ")"})
		case len(f.Calls) == 0:
			add(callView{Function: fmt.Sprintf("%#x", f.Addr)})
		}
		for _, c := range f.Calls {
			at := lookup.Call{Function: c.Function, File: c.File, Line: c.Line}
			library := r.library(&at)
			add(callView{name(c.Function), place(&at, r.opt.Dir), library})
			if v.Where == "" && !library {
				v.Where = strings.TrimSpace(name(c.Function) + " " + place(&at, r.opt.Dir))
			}
		}
	}
	if v.Where == "" && len(v.Calls) > 0 {
		v.Where = v.Calls[0].Function
	}
	return v
}

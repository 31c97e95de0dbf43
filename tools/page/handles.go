package page

// What a snapshot of resources says: sums, what is open by the stack that opened it, what
// was closed twice, and the last events.

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/handle"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// handlesView is a snapshot.
type handlesView struct {
	Title   string
	Notes   []string
	Kinds   []kindView
	Doubles []doubleView
	Events  []eventView
	Left    int // events that are not shown
}

// kindView is a kind of resources.
type kindView struct {
	Name                                string
	Open, Most, Opened, Closed, Doubles string
	Size                                string // "" if it has none
	Groups                              []groupView
	Left                                int // groups that are not shown
}

// groupView is what one stack has opened.
type groupView struct {
	Count string
	Size  string
	Since string
	Keys  []string
	Left  int // keys that are not shown
	Stack stackTrace
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

type doubleView struct {
	What   string
	Places []placeView
}

type placeView struct {
	What, Time string
	Stack      stackTrace
}

type eventView struct{ Time, What, Key, Size, Thread, Where string }

func (r *Report) handles(s *handle.Snapshot) *handlesView {
	v := &handlesView{Title: fmt.Sprintf("%s after the boot (%s)", handle.Seconds(s.Now), name(s.Reason))}
	note := func(format string, a ...any) { v.Notes = append(v.Notes, fmt.Sprintf(format, a...)) }
	if s.Overflow > 0 {
		note("%d things are missing: the table was full (record.open=%d)", s.Overflow, s.TableRoom)
	}
	if s.Stacks.Full > 0 {
		note("%d stacks are missing: the depot was full (depot=%d)", s.Stacks.Full, s.Stacks.Size)
	}
	if !s.Named() {
		note("its stacks have no names: no ELF file of build %s was given", name(s.BuildID))
	}
	for _, k := range s.Kinds {
		if k.Opens+k.Strays == 0 || len(v.Kinds) == maxKinds {
			continue
		}
		v.Kinds = append(v.Kinds, r.kind(s, k))
	}
	for i, d := range s.Doubles {
		if i == maxGroups {
			note("%d more were closed twice", len(s.Doubles)-i)
			break
		}
		v.Doubles = append(v.Doubles, doubleView{
			name(s.Kind(d.Kind).Name) + " " + handle.KeyName(d.Kind, d.Key),
			[]placeView{r.place("opened", s, d.Opened), r.place("closed first", s, d.First), r.place("closed again", s, d.Second)},
		})
	}
	v.Left = max(len(s.Log)-maxEvents, 0)
	for _, e := range s.Log[v.Left:] {
		size := ""
		if handle.HasBytes(e.Kind) {
			size = handle.SizeOf(e.Size)
		}
		v.Events = append(v.Events, eventView{handle.Seconds(e.Time), e.What.String(),
			name(s.Kind(e.Kind).Name) + " " + handle.KeyName(e.Kind, e.Key), size, fmt.Sprint(e.Thread), r.stack(s, e.Stack).Where})
	}
	if n := uint64(len(s.Log)); s.Events > n {
		v.Left += int(min(s.Events-n, 1<<52))
	}
	return v
}

func (r *Report) kind(s *handle.Snapshot, k handle.Stats) kindView {
	v := kindView{Name: name(k.Name), Open: number(k.Open), Most: number(k.Most), Opened: number(k.Opens), Closed: number(k.Closes), Doubles: number(k.Doubles)}
	if handle.HasBytes(k.ID) {
		v.Size = handle.SizeOf(k.Bytes)
	}
	groups := s.Groups(k.ID)
	if len(groups) > maxGroups {
		v.Left, groups = len(groups)-maxGroups, groups[:maxGroups]
	}
	for _, g := range groups {
		gv := groupView{Count: number(uint64(len(g.Handles))), Since: handle.Seconds(g.Handles[0].Time), Stack: r.stack(s, g.Stack)}
		if v.Size != "" {
			gv.Size = handle.SizeOf(g.Bytes)
		}
		for i, h := range g.Handles {
			if i == maxKeys {
				gv.Left = len(g.Handles) - i
				break
			}
			gv.Keys = append(gv.Keys, name(s.Describe(h)))
		}
		v.Groups = append(v.Groups, gv)
	}
	return v
}

func (r *Report) place(what string, s *handle.Snapshot, p handle.Place) placeView {
	return placeView{what, handle.Seconds(p.Time), r.stack(s, p.Stack)}
}

// stack returns the calls of a stack.
func (r *Report) stack(s *handle.Snapshot, id uint32) stackTrace {
	if id == 0 {
		return stackTrace{}
	}
	frames, complete := s.Stack(id)
	v := stackTrace{Known: true, Complete: complete}
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

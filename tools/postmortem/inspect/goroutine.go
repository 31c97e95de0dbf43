package inspect

// Goroutines are read as Delve reads them. What Go's own traceback says of one is said in its
// words: the state, the wait reason in its place, "locked to thread".

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"go/constant"
	"slices"
	"strings"
	"time"

	"github.com/go-delve/delve/pkg/proc"
)

// maxDepth is the largest number of frames of a stack that are read.
const maxDepth = 4096

// Goroutine is one goroutine, in the form of the JSON output. Host.
type Goroutine struct {
	ID int64 `json:"id"`
	// Go's word: running, runnable, waiting, syscall, ...
	State string `json:"state"`
	Wait  string `json:"wait,omitempty"` // Go's words for why it waits
	// ns of the runtime's clock at which it was first seen waiting; 0 if it was not
	Since  int64             `json:"since,omitempty"`
	Thread int               `json:"thread,omitempty"` // the core's thread that ran it
	System bool              `json:"system,omitempty"` // the runtime's own
	Locked bool              `json:"locked,omitempty"` // to its thread
	Labels map[string]string `json:"labels,omitempty"` // of package pprof
	Frames []Frame           `json:"frames"`
	By     *Frame            `json:"created_by,omitempty"` // the go statement
	Parent int64             `json:"parent,omitempty"`     // the goroutine that executed it
	// WaitsFor is what it waits for and who has that, as package waits writes it; Goroutines
	// leaves it nil.
	WaitsFor any    `json:"waits_for,omitempty"`
	Error    string `json:"error,omitempty"` // why it or its stack could not be read further

	waited time.Duration // of a log, which does not say since when
}

// Frame is one call on a stack. Inlined calls are frames of their own. Host.
type Frame struct {
	Address Hex `json:"address,omitempty"` // 0 where a log does not say it
	// of the physical frame: two words below its caller's stack pointer
	FP       Hex    `json:"fp,omitempty"`
	Return   Hex    `json:"-"` // where it returns to
	Function string `json:"function"`
	Offset   uint64 `json:"offset"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Inlined  bool   `json:"inlined"`
	System   bool   `json:"system_stack,omitempty"` // on the thread's own stack

	argued string // a name with arguments, as a log has it
}

// Hex is an address; in JSON it is a string. Host.
type Hex uint64

// MarshalJSON writes it in hexadecimal.
func (h Hex) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%#x"`, uint64(h)), nil }

// Goroutines returns every goroutine that lives, by number, with its stack. Host.
func (p *Program) Goroutines() (all []*Goroutine, err error) {
	defer guard(&err)
	gs, _, err := proc.GoroutinesInfo(p.target, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("no goroutines: %w", err)
	}
	more := p.details()
	for _, g := range gs {
		if g.Unreadable != nil {
			all = append(all, &Goroutine{ID: g.ID, State: "unreadable", Error: g.Unreadable.Error()})
			continue
		}
		if g.Status == proc.Gdead || g.Status == proc.Gidle {
			continue
		}
		all = append(all, p.goroutine(g, more))
	}
	slices.SortStableFunc(all, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// Goroutine returns one that lives, by its number. Host.
func (p *Program) Goroutine(id int64) (g *Goroutine, err error) {
	defer guard(&err)
	of, err := p.find(id)
	if err != nil {
		return nil, err
	}
	return p.goroutine(of, p.details()), nil
}

// Current returns the number of the goroutine that the thread ran that ended the program, 0 if it
// ran none. Host.
func (p *Program) Current() int64 {
	if g := p.target.SelectedGoroutine(); g != nil {
		return g.ID
	}
	return 0
}

// find returns Delve's goroutine of a number.
func (p *Program) find(id int64) (*proc.G, error) {
	g, err := proc.FindGoroutine(p.target, id)
	if err != nil || g == nil {
		return nil, fmt.Errorf("no goroutine %d; zf goroutines lists them", id)
	}
	return g, nil
}

// goroutine reads one. A panic of Delve's in its stack costs no other goroutine.
func (p *Program) goroutine(g *proc.G, more map[int64]detail) (out *Goroutine) {
	out = &Goroutine{ID: g.ID, State: stateWord(g.Status), Since: g.WaitSince}
	var err error
	defer func() {
		if err != nil && out.Error == "" {
			out.Error = err.Error()
		}
	}()
	defer guard(&err)
	d := more[g.ID]
	out.Locked, out.Parent = d.locked, d.parent
	if g.Status == proc.Gwaiting {
		if n := g.WaitReason; n > 0 && n < int64(len(p.reasons)) {
			out.Wait = p.reasons[n]
		}
	} else {
		out.Since = 0
	}
	if g.Thread != nil {
		out.Thread = g.Thread.ThreadID()
	}
	out.System = g.System(p.target)
	// the first is the runtime's doing; Go's traceback does not say it, either
	if g.GoPC != 0 && g.ID != 1 {
		by := g.Go()
		if by.Fn != nil {
			f := location(by)
			out.By = &f
		}
	}
	if l := g.Labels(); len(l) > 0 {
		out.Labels = l
	}
	frames, err := Stack(p.target, g, maxDepth)
	for i := range frames {
		if f := &frames[i]; f.Err != nil && err == nil {
			err = f.Err
		}
		out.Frames = append(out.Frames, frame(&frames[i]))
	}
	return out
}

// frame makes ours of a frame of Delve's.
func frame(f *proc.Stackframe) Frame {
	out := location(f.Call)
	out.Inlined, out.System = f.Inlined, f.SystemStack
	if !f.Inlined {
		out.FP, out.Return = Hex(f.Regs.CFA-16), Hex(f.Ret)
	}
	return out
}

// location makes a frame of a place in the code.
func location(l proc.Location) Frame {
	out := Frame{Address: Hex(l.PC), File: l.File, Line: l.Line}
	if l.Fn != nil {
		out.Function = l.Fn.Name
		if l.PC >= l.Fn.Entry && l.PC < l.Fn.End {
			out.Offset = l.PC - l.Fn.Entry
		}
	}
	return out
}

// stateWord is Go's word for a status of a goroutine.
func stateWord(status uint64) string {
	switch status {
	case proc.Gidle:
		return "idle"
	case proc.Grunnable:
		return "runnable"
	case proc.Grunning:
		return "running"
	case proc.Gsyscall:
		return "syscall"
	case proc.Gwaiting:
		return "waiting"
	case proc.Gdead:
		return "dead"
	case proc.Gcopystack:
		return "copystack"
	case 9:
		return "preempted"
	}
	return fmt.Sprintf("state %d", status)
}

// detail is what Delve does not say of a goroutine.
type detail struct {
	parent int64
	locked bool
}

// maxGoroutines bounds how many are asked for what Delve does not say.
const maxGoroutines = 1 << 20

// details reads it for all.
func (p *Program) details() map[int64]detail {
	all := map[int64]detail{}
	list, err := p.global("runtime.allgs", 0)
	t, err2 := p.target.BinInfo().FindType("runtime.g")
	if err != nil || err2 != nil {
		return all
	}
	mem := p.target.Memory()
	field := func(g uint64, name string) (uint64, bool) {
		off, _, err := Field(t, name)
		w, ok := word(mem, g+off)
		return w, ok && err == nil
	}
	for i := range min(uint64(max(list.Len, 0)), maxGoroutines) {
		g, _ := word(mem, list.Base+8*i)
		if id, ok := field(g, "goid"); ok {
			parent, _ := field(g, "parentGoid")
			locked, ok := field(g, "lockedm")
			all[int64(id)] = detail{int64(parent), ok && locked != 0}
		}
	}
	return all
}

// word reads a word of memory.
func word(m proc.MemoryReader, addr uint64) (uint64, bool) {
	var b [8]byte
	n, err := m.ReadMemory(b[:], addr)
	if err != nil || n < len(b) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// stringValue is the value of a string variable.
func stringValue(v *proc.Variable) (string, bool) {
	if v.Value == nil || v.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v.Value), true
}

// Status is what Go's own traceback has between the brackets. Host.
func (g *Goroutine) Status() string {
	s := g.State
	if g.Wait != "" {
		s = g.Wait
	}
	if g.waited > 0 {
		s += fmt.Sprintf(", %d minutes", int(g.waited.Minutes()))
	}
	if g.Locked {
		s += ", locked to thread"
	}
	return s
}

// Blocked reports whether it waits for something, Running whether a CPU or the kernel is at
// work for it. Host.
func (g *Goroutine) Blocked() bool { return g.State == "waiting" }

// Running reports whether it runs, or is in a system call. Host.
func (g *Goroutine) Running() bool { return g.State == "running" || g.State == "syscall" }

// hidden reports whether Go's traceback leaves a frame out of a user's goroutine: the runtime's
// own, but for what a program calls by name (see showfuncinfo in Go's runtime/traceback.go).
func hidden(f *Frame) bool {
	name, ok := strings.CutPrefix(f.Function, "runtime.")
	if !ok || name == "" {
		return false
	}
	return name[0] < 'A' || name[0] > 'Z'
}

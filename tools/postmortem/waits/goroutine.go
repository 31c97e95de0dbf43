package waits

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/locks"
)

// A Goroutine is one of the program's, with what it waits for.
type Goroutine struct {
	ID int64
	// Function is the outermost function that is not the runtime's: by it people know the
	// goroutine. At is the innermost such function with its line.
	Function, At string
	// State is the runtime's word for it: running, runnable, syscall or the reason of a wait.
	State string
	// System is set for the goroutines of the runtime and of the network stack.
	System bool
	// Wait is what it waits for, nil if for nothing.
	Wait *Wait

	own    string // the innermost function that is not the standard library's
	g      uint64 // where its g lies
	status uint64
	frames []proc.Stackframe
	proc   *proc.G
	regs   map[int]uint64 // of one that runs, of a list
	held   []hold         // by its frames
	heldOK bool           // they are known: each frame's code could be followed
	whole  bool           // its stack is known to its end
	idle   bool           // waits for nothing in particular, as a service does
	clears bool           // runs a finalizer or a cleanup
}

// The states of a g, from runtime/runtime2.go.
const (
	gRunnable  = 1
	gRunning   = 2
	gSyscall   = 3
	gWaiting   = 4
	gDead      = 6
	gPreempted = 9
	gLeaked    = 10
	gScan      = 0x1000
)

// maxFrames bounds the frames of a goroutine that are looked at.
const maxFrames = 256

// maxGoroutines bounds how many goroutines are looked at.
const maxGoroutines = 1 << 20

// ErrNotBegun is of a memory in which the program's runtime has not begun.
var ErrNotBegun = errors.New(
	"there is no goroutine yet: the machine has not come to the Go runtime")

// check finds out whether the core is of this program: of another one the variables lie
// elsewhere, and what is there now is anything.
func (p *program) check() error {
	wrong := fmt.Errorf(
		"the core is not of %s, or is damaged: the runtime's variables are not where that has them",
		p.file.Name())
	if v := p.globals["runtime.buildVersion"]; v == nil || !strings.HasPrefix(p.str(v.Addr), "go1.") &&
		!strings.HasPrefix(p.str(v.Addr), "devel") {
		return wrong
	}
	all := p.globals["runtime.allgs"].Addr
	list, n := p.word(all), p.word(all+8)
	if n == 0 && list == 0 {
		return ErrNotBegun
	}
	if n == 0 || n > 1<<32 || p.word(all+16) < n || list%8 != 0 {
		return wrong
	}
	if v := p.globals["runtime.allglen"]; v == nil || p.word(v.Addr) > n {
		return wrong
	}
	for _, g := range p.pointers(all, 64) {
		if s := p.get(g, "runtime.g.atomicstatus") &^ gScan; g == 0 || s > 32 {
			return wrong
		}
	}
	return nil
}

// goroutines lists those that are not dead.
func (p *program) goroutines() ([]*Goroutine, error) {
	byID := make(map[int64]uint64)
	if err := p.check(); err != nil {
		return nil, err
	}
	for _, g := range p.pointers(p.globals["runtime.allgs"].Addr, maxGoroutines) {
		if s := p.get(g, "runtime.g.atomicstatus") &^ gScan; s != 0 && s != gDead {
			byID[int64(p.get(g, "runtime.g.goid"))] = g
		}
	}
	all, _, err := proc.GoroutinesInfo(p.t, 0, maxGoroutines)
	if err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	var list []*Goroutine
	for _, x := range all {
		g := &Goroutine{ID: x.ID, g: byID[x.ID], proc: x, System: x.System(p.t)}
		if g.g == 0 || x.Unreadable != nil {
			continue
		}
		if p.list != nil {
			g.regs = p.list.registers(g.g)
		}
		g.status = p.get(g.g, "runtime.g.atomicstatus") &^ gScan
		g.frames, _ = inspect.Stack(p.t, x, maxFrames)
		p.describe(g)
		list = append(list, g)
	}
	return list, nil
}

func (p *program) describe(g *Goroutine) {
	for i := range g.frames {
		f := &g.frames[i]
		name := funcName(f)
		if name == "" || f.SystemStack || strings.HasPrefix(name, "runtime.") && name != "runtime.main" {
			continue
		}
		if g.At == "" && !inside(name) {
			g.At = fmt.Sprintf("%s %s:%d", name, f.Call.File[strings.LastIndexByte(f.Call.File,
				'/')+1:], f.Call.Line)
		}
		if g.own == "" && name != "runtime.main" && !locks.Standard(name) {
			g.own = name
		}
		if name != "runtime.main" && !strings.Contains(name, ".gowrap") &&
			!strings.Contains(name, ".deferwrap") {
			g.Function = name
		}
	}
	if g.Function == "" && g.proc.StartPC != 0 {
		if fn := p.t.BinInfo().PCToFunc(g.proc.StartPC); fn != nil {
			g.Function = fn.Name
		}
	}
	if fn := p.t.BinInfo().PCToFunc(g.proc.StartPC); fn != nil &&
		(fn.Name == "runtime.runFinalizers" || fn.Name == "runtime.runCleanups") &&
		g.Function != fn.Name {
		g.System, g.clears = false, true
	}
	g.System = g.System || p.ofNetwork(g.Function)
	switch g.status {
	case gRunnable, gPreempted:
		g.State = "runnable"
	case gRunning:
		g.State = "running"
	case gSyscall:
		g.State = "syscall"
	default:
		if n := p.get(g.g, "runtime.g.waitreason"); n < uint64(len(p.reasons)) {
			g.State = p.reasons[n]
		}
	}
}

// ofNetwork reports whether a goroutine with that outermost function is one of the network stack's,
// which wakes goroutines of the program by their descriptors alone.
func (p *program) ofNetwork(function string) bool {
	const inet = "github.com/zeroframe/zeroframe/kernel/net/inet."
	return strings.HasPrefix(function, inet) ||
		strings.HasPrefix(function, "gvisor.dev/gvisor/pkg/tcpip/") &&
			len(p.t.BinInfo().LookupFunc()[inet+"start"]) > 0
}

// inside reports whether a function is part of how a wait is done, rather than who waits.
func inside(name string) bool {
	for _, pkg := range []string{"sync.", "internal/sync.", "internal/poll.", "internal/runtime/",
		"sync/atomic.", "syscall.", "time.Sleep"} {
		if strings.HasPrefix(name, pkg) {
			return true
		}
	}
	// The program's own ways of locking, as a method that is called through an interface.
	return strings.HasSuffix(name, ").Lock") || strings.HasSuffix(name, ").RLock")
}

func funcName(f *proc.Stackframe) string {
	if f.Call.Fn == nil {
		return ""
	}
	return f.Call.Fn.Name
}

// has returns the innermost frame of a function, or -1.
func (g *Goroutine) has(name string) int {
	for i := range g.frames {
		if funcName(&g.frames[i]) == name {
			return i
		}
	}
	return -1
}

// callee returns the index of the frame that frame i has called, -1 if it has called none. Inlined
// calls are no frames here.
func (g *Goroutine) callee(i int) int {
	for i--; i >= 0 && g.frames[i].Inlined; i-- {
	}
	return i
}

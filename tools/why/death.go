package why

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// An event is a call of a function that deaths go through.
type event struct {
	function  string
	count     uint64
	stack     []uint64
	goroutine int64
	pc        uint64 // of sigpanic and of a trap: the instruction that has faulted
	text      string // of throw and fatal: what they say
}

// Where deaths go through.
const (
	fnSigpanic = "runtime.sigpanic"
	fnPanic    = "runtime.gopanic"
	fnThrow    = "runtime.throw"
	fnFatal    = "runtime.fatal"
	fnTrap     = "github.com/zeroframe/zeroframe/kernel/fault.fatalTrap"
	fnEnd      = "github.com/zeroframe/zeroframe/kernel/fault.EndMachine"
)

// sameDeath is how many instructions a death takes from its first event to its last one, about.
const sameDeath = 200_000

// events replays the whole run, and returns the events in their order.
func (w *Why) events(ctx context.Context) (all []event, err error) {
	w.say("how it died")
	m, f, err := w.followed(ctx)
	if err != nil {
		return nil, err
	}
	defer w.keep(f)
	defer m.End()
	at := map[uint64]string{}
	for _, f := range []string{fnSigpanic, fnPanic, fnThrow, fnFatal, fnTrap, fnEnd} {
		if a := w.entry(f); a != 0 {
			at[a] = f
			if err := m.Break(a); err != nil {
				return nil, err
			}
		}
	}
	old := w.at
	w.at = m
	defer func() { w.at = old }()
	sent := uint64(0) // of what the follower knows
	for before := uint64(0); ; {
		var e entry
		var count uint64
		err := m.Proceed()
		if err == nil {
			e, err = m.now()
		}
		if err == nil {
			count, err = m.VM.Instructions()
		}
		if over(err) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		v := event{function: at[e.pc], goroutine: w.goid(&e), count: count}
		switch v.function {
		case fnEnd:
			return all, nil
		case fnThrow, fnFatal:
			v.text = string(m.bytes(e.gpr[rax], e.gpr[rbx]))
		case fnTrap:
			v.pc, _ = m.word(e.gpr[rax] + uint64(w.fields["amd64.TrapFrame.PC"]))
		case fnSigpanic:
			g, _ := m.word(e.fs - 8)
			v.pc, _ = m.word(g + uint64(w.fields["runtime.g.sigpc"]))
		case "":
			if before == v.count {
				return all, nil // the recording is at its end
			}
			before = v.count
			continue
		}
		v.stack = m.stack(&e, 32)
		// The function has not made its frame yet: its caller is at SP.
		if ra, ok := m.word(e.gpr[rsp]); ok {
			v.stack = append(v.stack[:1], append([]uint64{ra}, v.stack[1:]...)...)
		}
		// What comes soon behind is of the same death.
		if n := len(all); n == 0 || v.count-sent > sameDeath {
			sent = v.count
			f.found(v.count, windows[1])
		}
		all = append(all, v)
		if err := m.Step(ctx); err != nil { // the stub would stop at the breakpoint again
			return nil, err
		}
	}
}

// ErrNoDeath is returned when the recorded machine has not died of anything that is looked for.
var ErrNoDeath = errors.New("the recorded machine has not died")

// A Cause is one value that the death was due to, and where it came from.
type Cause struct {
	What string `json:"what"` // in words: what the value is
	Hops []Hop  `json:"hops"` // the latest first
	End  string `json:"end"`  // where the way ends
	// Untold is set if the way could not be followed to where the value began.
	Untold bool `json:"untold,omitempty"`
}

// A Story is why a machine has died.
type Story struct {
	Death     string  `json:"death"` // what happened, in words
	Goroutine int64   `json:"goroutine,omitempty"`
	Count     uint64  `json:"instructions"` // that were run before it
	At        Hop     `json:"at"`           // where it happened
	Culprit   *Hop    `json:"culprit"`      // the program's own place that has made the value what it was, if it can be told
	Causes    []Cause `json:"causes"`
	// Unfinished is set if the search was ended from outside: this is what was known by then.
	Unfinished bool `json:"unfinished,omitempty"`
}

// unfinished is where a way ends that was not followed to its end.
const unfinished = "not followed any further"

// Death finds out why the machine has died. Errors wrap ErrNoDeath, or are the replay's; what is known by then
// comes with them.
func (w *Why) Death(ctx context.Context) (*Story, error) {
	all, err := w.events(ctx)
	if err == nil && len(all) == 0 {
		err = ErrNoDeath
	}
	if err != nil {
		return nil, err
	}
	last := all[len(all)-1]
	// A throw while a panic is printed comes behind that.
	for i := len(all) - 1; i >= 0 && (last.function == fnThrow || last.function == fnFatal) && w.within(&last, fnPanic); i-- {
		if all[i].function == fnPanic && all[i].goroutine == last.goroutine {
			last = all[i]
		}
	}
	s := &Story{Goroutine: last.goroutine, Count: last.count}
	// What the signal's handler has panicked or given up over is the fault.
	if last.function != fnTrap && w.within(&last, fnSigpanic) {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].function == fnSigpanic && all[i].goroutine == last.goroutine {
				return s, w.fault(ctx, s, &all[i])
			}
		}
	}
	if last.function == fnTrap || last.function == fnSigpanic {
		return s, w.fault(ctx, s, &last)
	}
	return s, w.panicked(ctx, s, &last)
}

// within reports whether an event came in a call of a function.
func (w *Why) within(v *event, function string) bool {
	for _, ra := range v.stack[min(1, len(v.stack)):] {
		if c := w.file.Lookup(ra, true); len(c) > 0 && c[len(c)-1].Function == function {
			return true
		}
	}
	return false
}

// where sets what is known of the place of an event.
func (w *Why) where(s *Story, v *event) {
	for _, ra := range v.stack[1:] {
		if c, ok := w.ownCall(w.file.Lookup(ra, true)); ok {
			s.At = Hop{Count: v.count, PC: ra, Goroutine: v.goroutine, Function: c.Function, File: c.File, Line: c.Line, Source: w.source(c.File, c.Line)}
			return
		}
	}
}

// fault is for an instruction that has trapped.
func (w *Why) fault(ctx context.Context, s *Story, v *event) error {
	s.Death = "a fault"
	w.where(s, v)
	var path []entry
	at := -1
	// Between the fault and what the program is told of it lies the way of a signal, of some 5,000 instructions.
	for _, n := range []uint64{3 * windows[0], windows[1], windows[2]} {
		var err error
		if path, err = w.pathTo(ctx, v.count, n); err != nil {
			return err
		}
		for at = len(path) - 2; at >= 0 && path[at].pc != v.pc; at-- {
		}
		if at >= 0 {
			break
		}
	}
	if at < 0 {
		return fmt.Errorf("the instruction at %#x that has faulted is not among the last %d", v.pc, windows[len(windows)-1])
	}
	// Where there is no code, what has led there is to blame.
	stray := false
	if _, known := w.file.FuncStart(v.pc); !known && at > 0 {
		at, stray = at-1, true
	}
	if i, from, what := w.checked(path, w.reporting(path, at), true); i >= 0 && !stray {
		s.Count, s.At, s.Death = path[i].count, w.hop(path, i), what
		return w.follow(ctx, s, path, i, from)
	}
	e := &path[at]
	s.Count, s.At = e.count, w.hop(path, at)
	from, addr := w.suspects(e)
	switch {
	case stray:
		s.Death, addr = fmt.Sprintf("a jump to %#x, where no code is", v.pc), nil
	case e.inst.Op == x86asm.DIV || e.inst.Op == x86asm.IDIV:
		s.Death = "a division by zero"
	case addr != nil && *addr < 4096:
		s.Death = fmt.Sprintf("nil pointer dereference: access to %#x", *addr)
	case addr != nil:
		s.Death = fmt.Sprintf("invalid access to %#x", *addr)
	}
	return w.follow(ctx, s, path, at, from)
}

// suspects are the places that an instruction which has faulted has used, the likely one first, and the address
// that it has accessed.
func (w *Why) suspects(e *entry) (from []place, addr *uint64) {
	if e.inst.Op == x86asm.DIV || e.inst.Op == x86asm.IDIV {
		return e.placesOf(e.inst.Args[0]), nil
	}
	for _, a := range e.inst.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		at := e.addressOf(m, e.pc+uint64(e.inst.Len))
		addr = &at
		from = addressPlaces(a)
		// Base and index: a pointer that can be one is not to blame.
		if len(from) == 2 && pointer(e.gpr[from[0].reg]) && !pointer(e.gpr[from[1].reg]) {
			from[0], from[1] = from[1], from[0]
		}
		return from[:min(len(from), 1)], addr
	}
	switch e.inst.Op { // implicit operands
	case x86asm.RET:
		return []place{{kind: inMemory, addr: e.gpr[rsp], size: 8}}, nil
	case x86asm.CALL, x86asm.JMP:
		return e.placesOf(e.inst.Args[0]), nil
	case x86asm.STOSB, x86asm.STOSD, x86asm.STOSQ, x86asm.MOVSB, x86asm.MOVSQ:
		return []place{register(rdi)}, &e.gpr[rdi]
	}
	return nil, nil
}

// pointer reports whether a value looks like an address: a program's, or in the upper half and no small negative
// number, as in the kernel's map of RAM.
func pointer(v uint64) bool {
	return v >= 4096 && v < 1<<47 || v >= 0xffff_8000_0000_0000 && int64(v) < -1<<40
}

// panicked is for a panic that a function has called.
func (w *Why) panicked(ctx context.Context, s *Story, v *event) error {
	caller := ""
	if len(v.stack) > 1 {
		if c := w.file.Lookup(v.stack[1], true); len(c) > 0 {
			caller = c[len(c)-1].Function
		}
	}
	s.Death = "a panic"
	if v.function != fnPanic {
		s.Death = "the runtime has given up: " + v.text
	}
	w.where(s, v)
	if v.function == fnThrow {
		if path, err := w.tooMuch(ctx, v); err != nil || path != nil {
			if err == nil {
				s.Death, s.At, s.Count = "no memory for a slice of this length", w.hop(path, len(path)-1), path[len(path)-1].count
				err = w.follow(ctx, s, path, len(path)-1, []place{register(rbx)})
			}
			return err
		}
	}
	var err error
	for _, n := range windows {
		var path []entry
		if path, err = w.pathTo(ctx, v.count, n); err != nil {
			return err
		}
		at, from, what := w.reason(path, v.function, caller)
		if at == never {
			return nil
		}
		if at >= 0 {
			s.Death = what
			s.At = w.hop(path, at)
			s.Count = path[at].count
			return w.follow(ctx, s, path, at, from)
		}
	}
	return nil
}

// tooMuch is for a throw in an allocation of a slice: the path to its call, whose length is in RBX. nil: it was
// something else.
func (w *Why) tooMuch(ctx context.Context, v *event) ([]entry, error) {
	for i, ra := range v.stack[min(1, len(v.stack)):] {
		c := w.file.Lookup(ra, true)
		if len(c) == 0 || i+2 >= len(v.stack) {
			continue
		}
		// makeslice(type, length, capacity), growslice(old, length, ...)
		if f := c[len(c)-1].Function; f == "runtime.makeslice" || f == "runtime.growslice" {
			caller := v.stack[i+2]
			count, err := w.lastCall(ctx, v.count, []uint64{w.entry(f)}, func(m *machine, e *entry) bool {
				ra, _ := m.word(e.gpr[rsp])
				return ra == caller
			})
			if err != nil || count == 0 {
				return nil, err
			}
			return w.pathTo(ctx, count, windows[0])
		}
	}
	return nil, nil
}

// lastEntry finds the last call of a function in a path.
func (w *Why) lastEntry(path []entry, function string) int {
	return w.last(path, w.entry(function))
}

// last finds the last time that the instruction at start was run.
func (w *Why) last(path []entry, start uint64) int {
	for i := len(path) - 1; i >= 0 && start != 0; i-- {
		if path[i].pc == start {
			return i
		}
	}
	return -1
}

// follow follows the values of places in front of path[at].
func (w *Why) follow(ctx context.Context, s *Story, path []entry, at int, from []place) error {
	for _, p := range from {
		c := Cause{What: p.String()}
		switch p.kind {
		case inRegister:
			c.What = fmt.Sprintf("%s holds %#x", p, path[at].gpr[p.reg])
		case inMemory:
			c.What = fmt.Sprintf("the word at %s", p)
			if n := w.Name(p.addr); n != "" {
				c.What += " (" + n + ")"
			}
		}
		var err error
		c.Hops, c.End, err = w.chain(ctx, s, path, at, p, nil)
		if err != nil {
			c.End = unfinished
		}
		c.Untold = err != nil || strings.HasPrefix(c.End, cannotTell)
		s.Causes = append(s.Causes, c)
		if err != nil {
			s.Culprit, s.Unfinished = nil, true // what is farther back may be to blame
			return err
		}
		s.blame()
	}
	return nil
}

package why

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// An event is a call of a function that deaths go through.
type event struct {
	function  string
	count     uint64
	stack     []uint64
	goroutine int64
	pc        uint64    // of sigpanic and of a trap: the instruction that has faulted
	text      string    // of throw and fatal: what they say
	args      [8]uint64 // what is in RAX to RDI, as [entry] has them
}

// Where deaths go through.
const (
	fnSigpanic = "runtime.sigpanic"
	fnPanic    = "runtime.gopanic"
	fnThrow    = "runtime.throw"
	fnFatal    = "runtime.fatal"
	fnTrap     = "github.com/zeroframe/zeroframe/kernel/fault.fatalTrap"
	fnEnd      = "github.com/zeroframe/zeroframe/kernel/fault.EndMachine"
	fnMemory   = "github.com/zeroframe/zeroframe/kernel/fault.outOfMemory"
	fnKilled   = "github.com/zeroframe/zeroframe/kernel/fault.ProgramKilled"
	fnExit     = "os.Exit"
)

// sameDeath is how many instructions a death takes from its first event to its last one, about.
const sameDeath = 200_000

// events replays the whole run, and returns the events in their order.
func (w *Why) events() (all []event, err error) {
	w.say("how it died")
	m, f, err := w.followed()
	if err != nil {
		return nil, err
	}
	defer w.keep(f)
	defer m.End()
	at := map[uint64]string{}
	for _, f := range slices.Concat([]string{fnSigpanic, fnPanic, fnThrow, fnFatal, fnTrap, fnEnd,
		fnMemory, fnKilled, fnExit}, slices.Collect(maps.Keys(tellers))) {
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
		e, err := m.stop()
		if over(err) && w.ctx.Err() == nil {
			return fatal(all), nil
		} else if err != nil {
			return nil, err
		}
		v := event{function: at[e.pc], goroutine: w.goid(&e), count: e.count, args: [8]uint64(e.gpr[:8])}
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
				return fatal(all), nil // the recording is at its end
			}
			before = v.count
			continue
		}
		v.stack = m.stack(&e, 32)
		switch {
		case v.function == fnExit && uint32(e.gpr[rax]) == 0:
			if err := m.Step(m.ctx); err != nil {
				return nil, err
			}
			continue
		case v.function == fnMemory:
			w.interrupted(m, &v, e.gpr[rax])
		case v.function == fnKilled:
			w.interrupted(m, &v, e.gpr[rax]+uint64(w.fields["thread.Thread.Frame"]))
		}
		// What comes soon behind is of the same death.
		if n := len(all); n == 0 || v.count-sent > sameDeath {
			sent = v.count
			f.found(v.count, windows[1])
		}
		all = append(all, v)
		if err := m.Step(m.ctx); err != nil { // the stub would stop at the breakpoint again
			return nil, err
		}
	}
}

// interrupted makes the stack of an event that of the code whose registers the kernel has put aside
// at frame.
func (w *Why) interrupted(m *machine, v *event, frame uint64) {
	var e entry
	field := func(name string) uint64 {
		n,
			_ := m.word(frame + uint64(w.fields["amd64.TrapFrame."+name]))
		return n
	}
	e.pc, e.gpr[rbp] = field("PC"), field("FP")
	v.pc, v.goroutine = e.pc, w.goidOf(field("R14"))
	v.stack = append([]uint64{0, e.pc + 1}, m.stack(&e, 32)[1:]...)
	v.args[rcx] = field("Addr")
}

// fatal takes away what a machine that has not died has gone on after.
func fatal(all []event) []event {
	for n := len(all); n > 0 && (all[n-1].function == fnSigpanic || all[n-1].function == fnPanic ||
		tellers[all[n-1].function] != nil); n-- {
		all = all[:n-1]
	}
	return all
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
	wanted bool // a literal of the test that has failed, which is not to blame
	// Forked is set if it was made of several there, each of which is a cause that comes behind.
	Forked bool `json:"forked,omitempty"`
}

// A Story is why a machine has died.
type Story struct {
	Death     string `json:"death"` // what happened, in words
	Goroutine int64  `json:"goroutine,omitempty"`
	Count     uint64 `json:"instructions"` // that were run before it
	At        Hop    `json:"at"`           // where it happened
	// the program's own place that has made the value what it was, if it can be told
	Culprit *Hop    `json:"culprit"`
	Causes  []Cause `json:"causes"`
	// OneOf are the places of which one has made it so, where it cannot be told which; Culprit is nil
	// then.
	OneOf []Hop `json:"one_of,omitempty"`
	// Open says why nobody is named where the way of the value is known: another value may be to
	// blame.
	Open string `json:"open,omitempty"`
	// Unfinished is set if the search was ended from outside: this is what was known by then.
	Unfinished bool `json:"unfinished,omitempty"`

	asked  int  // branches
	made   bool // Culprit has made the value, and not only handed it over
	either bool // nothing tells which of two numbers is off

	assertion bool // a test's, and what it compared is followed
}

// unfinished is where a way ends that was not followed to its end.
const unfinished = "not followed any further"

// Death finds out why the machine has died. Errors wrap ErrNoDeath, or are the replay's; what is
// known by then comes with them.
func (w *Why) Death(ctx context.Context) (*Story, error) {
	w.ctx = ctx
	all, err := w.events()
	if err == nil && len(all) == 0 {
		err = ErrNoDeath
	}
	if err != nil {
		return nil, err
	}
	w.deaths = all
	last := all[len(all)-1]
	// A throw while a panic is printed comes behind that.
	for i := len(all) - 1; i >= 0 && (last.function == fnThrow || last.function == fnFatal) &&
		w.within(&last, fnPanic); i-- {
		if all[i].function == fnPanic && all[i].goroutine == last.goroutine {
			last = all[i]
		}
	}
	last = w.first(last)
	s := &Story{Goroutine: last.goroutine, Count: last.count}
	return s, w.of(s, &last)
}

// of tells of a death by its event.
func (w *Why) of(s *Story, last *event) error {
	// What the signal's handler has panicked or given up over is the fault.
	if last.function != fnTrap && w.within(last, fnSigpanic) {
		for i := len(w.deaths) - 1; i >= 0; i-- {
			if v := &w.deaths[i]; v.function == fnSigpanic && v.goroutine == last.goroutine &&
				v.count <= last.count {
				return w.fault(s, v)
			}
		}
	}
	switch last.function {
	case fnTrap, fnSigpanic:
		return w.fault(s, last)
	case fnMemory, fnKilled:
		return w.killed(s, last)
	}
	return w.panicked(s, last)
}

// senders are functions by which a program sends itself a signal.
var senders = []string{"syscall.Kill", "syscall.kill", "os.(*Process).Signal",
	"os.(*Process).signal", "syscall.Tgkill", "golang.org/x/sys/unix.Kill",
	"golang.org/x/sys/unix.Tgkill"}

// killed is for what ends a program without its code: a signal, or no memory.
func (w *Why) killed(s *Story, v *event) error {
	w.where(s, v)
	if v.function == fnMemory {
		s.Death = fmt.Sprintf("out of memory at the access to %#x", v.args[rcx])
		s.Causes = []Cause{{What: "all of the memory is in use", Hops: []Hop{}, Untold: true,
			End: cannotTell +
				"who has too much of it; zf replay -until end -core FILE and zf heap say who has how much"}}
		return nil
	}
	s.Death = fmt.Sprintf("ended by signal %d", v.args[rbx])
	var entries []uint64
	for _, f := range senders {
		entries = append(entries, w.entry(f))
	}
	c := Cause{What: "the signal", Hops: []Hop{}, Untold: true, End: cannotTell +
		"who has sent it; the program has not"}
	count, err := w.lastCall(0, v.count, entries, nil)
	if err != nil {
		return err
	}
	if count > 0 && v.count-count < sameDeath {
		_, h, err := w.hopAt(count)
		if err != nil {
			return err
		}
		h.How, h.Value = "computed", v.args[rbx]
		c = Cause{What: c.What, Hops: []Hop{h}, End: "the program has sent it to itself"}
		if h.Own {
			s.Culprit = &h
		}
	}
	s.Causes = []Cause{c}
	return nil
}

// first returns the event that an event came of: a panic that a deferred function has made another
// one of, or that was recovered and is passed on; what was logged of a program that has ended
// itself then, or the first failure of a test.
func (w *Why) first(last event) event {
	for i := len(w.deaths) - 1; i >= 0; i-- {
		v := &w.deaths[i]
		switch {
		case v.count >= last.count:
		case tellers[v.function] != nil:
			if v.goroutine == last.goroutine && w.within(&last, v.function) ||
				(last.function == fnExit || tellers[last.function] != nil) &&
					strings.HasPrefix(v.function, "testing.") {
				last = *v
			}
		case v.function != fnPanic || last.function != fnPanic || v.goroutine != last.goroutine:
		case v.args[rax] == last.args[rax] && v.args[rbx] == last.args[rbx] && w.stackOfRuntime(v),
			w.raisedIn(&last, v):
			last = *v
		}
	}
	return last
}

// raisedIn reports whether a panic came in a function that was deferred, while another panic was on
// its way.
func (w *Why) raisedIn(last, earlier *event) bool {
	for i, ra := range last.stack[1:] {
		if i > 0 && w.function(ra, true) == fnPanic {
			return i+2 < len(last.stack) && len(earlier.stack) > 1 && last.stack[i+2] == earlier.stack[1]
		}
	}
	return false
}

// stackOfRuntime reports whether the runtime itself has panicked.
func (w *Why) stackOfRuntime(v *event) bool {
	return strings.HasPrefix(w.caller(v), "runtime.")
}

// caller names the function that has called the one of an event, "" if it is not known.
func (w *Why) caller(v *event) string {
	if len(v.stack) < 2 {
		return ""
	}
	return w.function(v.stack[1], true)
}

// within reports whether an event came in a call of a function.
func (w *Why) within(v *event, function string) bool {
	return slices.ContainsFunc(v.stack[min(1, len(v.stack)):],
		func(ra uint64) bool { return w.function(ra, true) == function })
}

// where sets what is known of the place of an event.
func (w *Why) where(s *Story, v *event) {
	for _, ra := range v.stack[1:] {
		if c, ok := w.ownCall(w.file.Lookup(ra, true)); ok {
			s.At = Hop{Count: v.count, PC: ra, Goroutine: v.goroutine}
			w.place(&s.At, &c)
			return
		}
	}
}

// fault is for an instruction that has trapped.
func (w *Why) fault(s *Story, v *event) error {
	s.Death = "a fault"
	w.where(s, v)
	var path []entry
	at := -1
	// Between the fault and what the program is told of it lies the way of a signal, of some 5,000
	// instructions.
	for _, n := range []uint64{3 * windows[0], windows[1], windows[2]} {
		var err error
		if path, err = w.pathTo(v.count, n); err != nil {
			return err
		}
		for at = len(path) - 2; at >= 0 && path[at].pc != v.pc; at-- {
		}
		if at >= 0 {
			break
		}
	}
	if at < 0 {
		return fmt.Errorf("the instruction at %#x that has faulted is not among the last %d", v.pc,
			windows[len(windows)-1])
	}
	// Where there is no code, what has led there is to blame.
	stray := false
	if _, known := w.file.FuncStart(v.pc); !known && at > 0 {
		at, stray = at-1, true
	}
	if i, from, what := w.checked(path, w.reporting(path, at), true); i >= 0 && !stray {
		s.Count, s.At, s.Death = path[i].count, w.hop(path, i), what
		return w.follow(s, path, i, from)
	}
	e := &path[at]
	s.Count, s.At = e.count, w.hop(path, at)
	from, addr := w.suspects(e)
	switch {
	case stray:
		s.Death, addr = fmt.Sprintf("a jump to %#x, where no code is", v.pc), nil
	case divides(e.inst.Op):
		s.Death = "a division by zero"
	case addr != nil && *addr < 4096:
		s.Death = fmt.Sprintf("nil pointer dereference: access to %#x", *addr)
	case addr != nil:
		s.Death = fmt.Sprintf("invalid access to %#x", *addr)
	}
	return w.follow(s, path, at, from)
}

// suspects are the places that an instruction which has faulted has used, the likely one first, and
// the address that it has accessed.
func (w *Why) suspects(e *entry) (from []place, addr *uint64) {
	if divides(e.inst.Op) {
		return e.placesOf(e.inst.Args[0]), nil
	}
	for _, a := range e.inst.Args {
		m, ok := a.(x86asm.Mem)
		if !ok {
			continue
		}
		at := e.operand(m)
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
		return []place{bytesAt(e.gpr[rsp], 8)}, nil
	case x86asm.CALL, x86asm.JMP:
		return e.placesOf(e.inst.Args[0]), nil
	case x86asm.STOSB, x86asm.STOSD, x86asm.STOSQ, x86asm.MOVSB, x86asm.MOVSQ:
		return []place{register(rdi)}, &e.gpr[rdi]
	}
	return nil, nil
}

// pointer reports whether a value looks like an address: a program's, or in the upper half and no
// small negative number, as in the kernel's map of RAM.
func pointer(v uint64) bool {
	return v >= 4096 && v < 1<<47 || v >= 0xffff_8000_0000_0000 && int64(v) < -1<<40
}

// timedOut is the death of a test that did not end in time.
const timedOut = "the tests have not ended in time, and package testing has panicked"

// panicked is for a panic that a function has called.
func (w *Why) panicked(s *Story, v *event) error {
	switch s.Death = "a panic"; {
	case v.function == fnExit:
		s.Death = fmt.Sprintf("the program has ended itself with status %d", uint32(v.args[rax]))
	case tellers[v.function] != nil:
		s.Death = "ended by " + v.function
	case v.function != fnPanic:
		s.Death = "the runtime has given up: " + v.text
	}
	w.where(s, v)
	if v.function == fnThrow {
		if path, err := w.tooMuch(v); err != nil || path != nil {
			if err == nil {
				s.Death, s.At, s.Count = "no memory for a slice of this length", w.hop(path, len(path)-1),
					path[len(path)-1].count
				err = w.follow(s, path, len(path)-1, []place{register(rbx)})
			}
			return err
		}
	}
	if told, err := w.ofError(s, v); told || err != nil {
		return err
	}
	if w.within(v, "testing.(*M).startAlarm.func1") {
		s.Death = timedOut
		return nil
	}
	if isAssertion(v) {
		return w.asserted(s, v)
	}
	reporter := v.function
	if tellers[reporter] != nil || reporter == fnExit {
		reporter = fnPanic // it was called in the same way
	}
	var err error
	for _, n := range windows {
		var path []entry
		if path, err = w.pathTo(v.count, n); err != nil {
			return err
		}
		at, from, what := w.reason(path, reporter, w.caller(v))
		if at == never {
			return nil
		}
		if at >= 0 {
			if v.function == reporter || what != "a panic" {
				s.Death = what
			}
			s.At = w.hop(path, at)
			s.Count = path[at].count
			if told, err := w.comparedError(s, path, at, from); told || err != nil {
				return err
			}
			return w.follow(s, path, at, from)
		}
	}
	return nil
}

// tooMuch is for a throw in an allocation of a slice: the path to its call, whose length is in RBX.
// nil: it was something else.
func (w *Why) tooMuch(v *event) ([]entry, error) {
	for i, ra := range v.stack[min(1, len(v.stack)):] {
		if i+2 >= len(v.stack) {
			break
		}
		// makeslice(type, length, capacity), growslice(old, length, ...)
		if f := w.function(ra, true); f == "runtime.makeslice" || f == "runtime.growslice" {
			caller := v.stack[i+2]
			count, err := w.lastCall(0, v.count, []uint64{w.entry(f)}, func(m *machine, e *entry) bool {
				ra, _ := m.word(e.gpr[rsp])
				return ra == caller
			})
			if err != nil || count == 0 {
				return nil, err
			}
			return w.pathTo(count, windows[0])
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

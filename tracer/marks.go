package tracer

import "unsafe"

// The marked functions. A language runtime leaves the chain of frame records in a few functions of
// its own: it runs a function on another stack, saves a goroutine and starts on a fresh record, or
// has a signal handler inject a call. The function tells that, the bytes on the stack do not.
// Whoever sets up a walk gives it these functions, each with a Rule.
//
// A rule is applied only to what the guards have accepted, and only where the chain would end or,
// for RuleExact, to frames that are already in the list. So marks cost the loop nothing, and
// overwritten memory gains little from a marked address: a rule leads to a stack that the walk has
// not visited, or upwards on the current one.
//
// Where Go's runtime does this (Go 1.26, runtime/asm_amd64.s, sys_linux_amd64.s, signal_amd64.go),
// with the rule that accounts for it:
//
//	goexit               RuleExit     newproc1 makes it the caller of a goroutine's function
//	sigpanic, sigpanic0, RuleExact    preparePanic and pushCall push the pc of the
//	asyncPreempt                      interrupted instruction as a return address
//	systemstack,         RuleSwitch   RSP goes to the stack of g0, RBP stays; so the function
//	asmcgocall,                       called there saves a frame pointer into the goroutine's
//	switchToCrashStack0               stack
//	nanotime1, time.now  RuleSwitch   likewise, around the vDSO call or the system call
//	mcall, morestack,    RuleSaved    RSP goes to the stack of g0, RBP becomes 0; only
//	gogo                              g.sched tells where the goroutine goes on. gogo is
//	                                  the way back
//	clone, mstart,       RuleStart    nobody calls them
//	rt0_go, _rt0_amd64,
//	_rt0_amd64_linux
//	sigreturn__sigaction RuleRestorer a signal handler returns here

// Rule says how a walk passes a marked function, or ends in it.
type Rule uint8

const (
	// RuleExit: nothing called the function. With a frame pointer of 0 the walk
	// is complete, with EndGoexit.
	RuleExit Rule = iota + 1
	// RuleExact: a signal handler injected the call of the function. Its return address is an exact
	// pc, found as if the code there had just trapped: the stack pointer is the address just above
	// the return address, the frame pointer the saved one. (When the program called an address that
	// is no code, Go's runtime pushes nothing, and the call's own return address takes that place.
	// Nothing on the stack tells the two apart, so that one is taken for exact, too, as in Go's own
	// traceback.)
	RuleExact
	// RuleSwitch: the function runs code on another stack and leaves the frame pointer unchanged. A
	// frame pointer that leads from it into another stack of the table is accepted the first time
	// that the walk comes to that stack.
	RuleSwitch
	// RuleSaved: the function leaves a stack for good and zeroes the frame pointer, or comes back
	// to one. Walker.Saved tells where the code that it left goes on, and Walker.Switching how to
	// treat an exact pc in it.
	RuleSaved
	// RuleStart: nothing called the function, which is the first of its thread. With a frame
	// pointer of 0 the walk is complete, with EndZero.
	RuleStart
	// RuleRestorer: the function's entry is a signal handler's return address. No call put it
	// there, so it is no frame: one just before a trap record is left out.
	RuleRestorer
)

// Mark gives the function at Lo <= pc < Hi a rule.
type Mark struct {
	Lo, Hi uintptr
	Rule   Rule
}

// reach is a range of addresses: lo <= address < lo+span.
type reach struct{ lo, span uintptr }

// Prepare does in advance what the first walk with a table of Marks would do, which is to read the
// whole table. Any context.
func (w *Walker) Prepare() { w.spans() }

// spans computes the reach of all marks, and of those whose frames the walk must search for. Few
// addresses lie within them, so one comparison rules out most.
func (w *Walker) spans() {
	w.table.at, w.table.n = uintptr(unsafe.Pointer(unsafe.SliceData(w.Marks))), len(w.Marks)
	var lo, hi, exactLo, exactHi uintptr
	for i := range w.Marks {
		m := &w.Marks[i]
		if m.Lo >= m.Hi {
			continue
		}
		if hi == 0 || m.Lo < lo {
			lo = m.Lo
		}
		hi = max(hi, m.Hi)
		if m.Rule == RuleExact {
			if exactHi == 0 || m.Lo < exactLo {
				exactLo = m.Lo
			}
			exactHi = max(exactHi, m.Hi)
		}
	}
	w.marked = reach{lo, hi - lo}
	w.exact = reach{exactLo, exactHi - exactLo}
}

// rule returns the rule of the function that contains a frame of the kind at addr, or 0.
func (w *Walker) rule(kind Kind, addr uintptr) Rule {
	if kind != PC {
		addr-- // the call itself, which may be the function's last instruction
	}
	if addr-w.marked.lo >= w.marked.span {
		return 0
	}
	for i := range w.Marks {
		if m := &w.Marks[i]; addr-m.Lo < m.Hi-m.Lo {
			return m.Rule
		}
	}
	return 0
}

// exactFrom returns the index of the first frame at or after first that is in a RuleExact function,
// or the number of frames.
func (w *Walker) exactFrom(first int) int {
	for i := first; i < w.N; i++ {
		// A return address may be one past the function.
		if f := &w.Frames[i]; f.Addr-w.exact.lo <= w.exact.span && w.rule(f.Kind, f.Addr) == RuleExact {
			return i
		}
	}
	return w.N
}

// lastRule returns the rule of the last frame, which is the one whose frame
// pointer the walk could not follow.
func (w *Walker) lastRule() Rule {
	if w.N == 0 {
		return 0
	}
	f := &w.Frames[w.N-1]
	return w.rule(f.Kind, f.Addr)
}

// atZero applies the rules to a frame pointer of 0: it sets the walk's end, or returns true if the
// walk goes on at p. above is the address of the word above the last return address.
func (w *Walker) atZero(p *place, above uintptr) (goOn bool) {
	switch w.lastRule() {
	case RuleExit:
		w.stop(EndGoexit, 0)
	case RuleStart:
		w.stop(EndZero, 0)
	case RuleSaved:
		if w.N == len(w.Frames) && !w.room() {
			w.stop(EndLimit, 0)
			return false
		}
		if w.saved(p, above) || w.End != 0 {
			return w.End == 0
		}
		w.stop(EndOutside, 0) // there are more frames, wherever they are
	}
	return false
}

// saved sets p to the place that the last frame's function, a RuleSaved one, has left. It reports
// whether the walk can go on there; if not, it may have set the walk's end.
func (w *Walker) saved(p *place, above uintptr) (goOn bool) {
	if w.Saved == nil {
		return false
	}
	pc, sp, fp, ok := w.Saved(w.Frames[w.N-1].Addr, above)
	return w.goOnAt(p, pc, sp, fp, ok)
}

// goOnAt sets p to the answer of Saved or Switching.
func (w *Walker) goOnAt(p *place, pc, sp, fp uintptr, ok bool) (goOn bool) {
	switch {
	case ok && pc == 0:
		w.stop(EndZero, 0)
	case ok && w.inText(pc):
		to := w.locate(sp, fp)
		// SP may already be on its way back to that stack.
		back := w.Frames[w.N-1].Kind == PC && to == p.stack
		*p = place{kind: RA, pc: pc, sp: sp, fp: fp, stack: to, floor: p.floor, fresh: !back}
		return true
	}
	return false
}

// atOther applies the rules to a frame pointer that is not in stack cur. It reports whether the
// walk goes on at p.
func (w *Walker) atOther(p *place, cur int, fp uintptr) (goOn bool) {
	if w.lastRule() != RuleSwitch {
		return false
	}
	to := w.find(fp)
	if to == NoStack || to == cur {
		return false
	}
	*p = place{sp: fp, fp: fp, stack: to, fresh: true}
	return true
}

// stackGranule divides the addresses and the sizes of Go's stacks (runtime/stack.go, fixedStack).
const stackGranule = 2048

// atMoved accepts a frame pointer of an earlier place of the same stack. A runtime moves a
// goroutine's stack to a larger one and adjusts the saved frame pointers one by one
// (runtime/stack.go, copystack), and a trap may come in between. Go 1.25's adjustframe never
// adjusts one of them, in a function that has faulted and cannot recover. The function's caller is
// the last frame, and its own record lies where the pc tables say; the rejected frame pointer must
// be at the same distance from a stack's end. last is the record of the function, or 0. It reports
// whether the walk goes on at p.
func (w *Walker) atMoved(p *place, cur int, fp, last uintptr) (goOn bool) {
	if cur == NoStack || last == 0 || w.N < 2 || w.SPDelta == nil || w.Plain ||
		w.Arch.or().LinkRegister {
		return false
	}
	caller := &w.Frames[w.N-1]
	if caller.Kind != RA || w.rule(RA, caller.Addr) != 0 {
		return false
	}
	delta, ok := w.SPDelta(caller.Addr - 1)
	if !ok {
		return false
	}
	record := last + 16 + delta - 8
	if record < last+16 || !w.moved(cur, fp, record) {
		return false
	}
	caller.FP = record
	*p = place{sp: last + 16, fp: record, stack: cur, floor: last + 16}
	return true
}

// moved reports whether fp may point to the record, which is on stack cur, as it was before the
// stack moved.
func (w *Walker) moved(cur int, fp, record uintptr) bool {
	return fp != 0 && (record-fp)%stackGranule == 0 && w.holds(cur, record)
}

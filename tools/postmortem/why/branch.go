package why

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Why the code has come to a place: the last branch on the way there whose other side need not have
// come there, too.

// mostAsked bounds how many branches a story asks about.
const mostAsked = 4

// carriers are packages whose own branches say nothing of why an error was made: they allocate and
// format.
var carriers = []string{"runtime.", "fmt.", "errors.", "internal/runtime/", "log."}

// decider finds the comparison that has decided that the code came to a step, at the path's end, in
// its function or in those that have called it: the jump of it, too. With outer it is not the last
// one, but the one before so many of them. more is set if a longer path may have it.
func (w *Why) decider(path []entry, h *Hop, outer int) (compare, jump int, ok, more bool) {
	own, k := 0, len(path)-1
	for range 16 {
		calls := w.file.Lookup(path[k].pc, false)
		if len(calls) == 0 {
			return 0, 0, false, false
		}
		name := calls[len(calls)-1].Function
		_, mine := w.ownCall(calls)
		if !slices.ContainsFunc(carriers, func(c string) bool { return strings.HasPrefix(name, c) }) {
			for at := k; ; at = jump {
				if compare, jump, ok = w.jumpBefore(path, at, k); !ok {
					break
				}
				if !w.decides(path, jump, k) {
					continue
				}
				if outer == 0 {
					return compare, jump, true, false
				}
				outer--
			}
		}
		if mine {
			own++
		}
		if own == 3 || strings.HasPrefix(name, "main.main") || strings.HasPrefix(name, "runtime.main") {
			return 0, 0, false, false
		}
		call, ok := callerOf(path, k)
		for i := k; !ok && own == 0 && i > 0; i-- { // the stack has been moved on the way
			c, mine := w.ownCall(w.file.Lookup(path[i].pc, false))
			call, ok = i, mine && path[i].inst.Op == x86asm.CALL && c.Function == h.Function &&
				c.Line == h.Line
		}
		if k = call; !ok {
			return 0, 0, false, true
		}
	}
	return 0, 0, false, false
}

// decided is decider for the last branch; where the path is too short, it takes a longer one:
// other threads, too, may have run between the branch and the step.
func (w *Why) decided(path []entry, h *Hop) (_ []entry, compare, jump int, ok bool, err error) {
	count := path[len(path)-1].count
	for _, n := range windows {
		if n > count-path[0].count {
			if path, err = w.pathTo(count, n); err != nil {
				return nil, 0, 0, false, err
			}
		}
		var more bool
		compare, jump, ok, more = w.decider(path, h, 0)
		if !more || count-path[0].count < n { // or nothing is before
			break
		}
	}
	return path, compare, jump, ok, nil
}

// jumpBefore finds the last branch before path[at] in the call of a function that path[k] is in,
// and its comparison.
func (w *Why) jumpBefore(path []entry, at, k int) (compare, jump int, ok bool) {
	sp, jump := path[k].gpr[rsp], -1
	start, _ := w.file.FuncStart(path[k].pc)
	for i := at - 1; i >= 0; i-- {
		e := &path[i]
		if i+1 < at && path[i+1].pc == start && path[i+1].gpr[rsp] >= sp {
			return 0, 0, false // a goroutine's first function was not called
		}
		if e.gpr[rsp] > sp && path[i+1].gpr[rsp] <= sp && e.inst.Op == x86asm.CALL {
			return 0, 0, false // the call of this function
		}
		if s, _ := w.file.FuncStart(e.pc); e.gpr[rsp] != sp || s != start {
			continue
		}
		op := e.inst.Op.String()
		switch _, direct := e.inst.Args[0].(x86asm.Rel); {
		case jump < 0 && op[0] == 'J' && op != "JMP" && direct:
			jump = i
		case jump >= 0 && forms[e.inst.Op] == compares:
			return i, jump, true
		}
	}
	return 0, 0, false
}

// decides reports whether a branch has decided that the code came to path[k]: its other side need
// not.
func (w *Why) decides(path []entry, jump, k int) bool {
	in := path[jump].inst
	rel, _ := in.Args[0].(x86asm.Rel)
	next := path[jump].next()
	other := next + uint64(int64(rel))
	if path[jump+1].pc == other {
		other = next
	}
	return w.at != nil && !w.bound(other, path[k].pc, w.at.decode)
}

// whyThere adds to a story why the code has come to a step: what the comparison was about that has
// decided it. The culprit is then who has made that what it was, if that can be told; otherwise it
// stays who it is.
func (w *Why) whyThere(s *Story, h *Hop) error {
	if s.asked++; s.asked > mostAsked {
		return nil
	}
	path, err := w.pathTo(h.Count, windows[0])
	if err != nil {
		return err
	}
	if strings.HasPrefix(h.By, "strconv.") { // its errors are about the text that it was given first
		k, ok := w.ownCallOf(path, len(path)-1)
		if !ok {
			if path, err = w.pathTo(h.Count, windows[1]); err != nil {
				return err
			}
			k, ok = w.ownCallOf(path, len(path)-1)
		}
		if !ok {
			return nil
		}
		text := w.at.bytes(path[k].gpr[rax], path[k].gpr[rbx])
		return w.followElse(s, path, k, register(rax),
			fmt.Sprintf("it came to that by the text %.60q", text), h)
	}
	path, compare, _, ok, err := w.decided(path, h)
	if err != nil || !ok {
		return err
	}
	return w.ask(s, path, compare, h)
}

// ownCallOf finds the program's own call that path[k] is in.
func (w *Why) ownCallOf(path []entry, k int) (call int, ok bool) {
	for call, ok = callerOf(path, k); ok; call, ok = callerOf(path, call) {
		if _, own := w.ownCall(w.file.Lookup(path[call].pc, false)); own {
			return call, true
		}
	}
	return 0, false
}

// followElse follows a value; whoever has made it is to blame, otherwise who is so already. If it
// may be one of several, nobody is.
func (w *Why) followElse(s *Story, path []entry, at int, p place, what string, maker *Hop) error {
	old := s.Culprit
	if err := w.followAs(s, path, at, p, what); err != nil || len(s.OneOf) > 0 {
		return err
	}
	s.Culprit = old
	if k, made := s.culprit(&s.Causes[len(s.Causes)-1]); made && s.elsewhere(k, maker) {
		s.Culprit = k
	}
	return nil
}

// ask follows what was compared.
func (w *Why) ask(s *Story, path []entry, compare int, maker *Hop) error {
	at, from := compare, w.compared(&path[compare])
	here, loop := w.hop(path, compare), false
	if told, err := w.comparedError(s, path, compare, from); told || err != nil {
		return err
	}
	if i, p, ok := w.unequal(path, compare); ok {
		at, from = i, p
	} else {
		n := len(from)
		from = w.withoutCounters(path, compare, from)
		loop = len(from) < n
	}
	var latest *Hop
	first, several := len(s.Causes), false
	for i, p := range from[:min(len(from), 2)] {
		if i > 0 {
			var err error
			if path, at, err = w.pathAgain(path, at); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("it came to that since %s was %#x, in %s", p, w.value(path, at, p),
			where(&here))
		old := s.Culprit
		if err := w.followAs(s, path, at, p, what); err != nil {
			return err
		}
		s.Culprit, several = old, len(s.OneOf) > 0
		c := &s.Causes[len(s.Causes)-1]
		if k, made := s.culprit(c); made && s.elsewhere(k, maker) &&
			(latest == nil || k.Count > latest.Count) {
			if loop {
				if less, err := w.shorter(k); err != nil || !less {
					c.End += "; " + cannotTell + "which of the rounds should have ended otherwise"
					return err
				}
			}
			latest = k
		} else if h := c.answer(from); !made && h != nil {
			return w.whyThere(s, h)
		}
	}
	switch {
	case s.assertion && latest != nil:
		s.blameAsked(s.Causes[first:], maker)
	case several:
		s.Culprit = nil
	case latest != nil:
		s.Culprit = latest
	}
	return nil
}

// answer is the step that has made the one value that was compared, if that is a function's answer,
// true or false; else nil.
func (c *Cause) answer(from []place) *Hop {
	if n := len(c.Hops); n > 0 && len(from) == 1 && from[0].kind == inRegister && from[0].size == 1 &&
		c.Hops[n-1].Own && c.Hops[n-1].How == "constant" {
		return &c.Hops[n-1]
	}
	return nil
}

// elsewhere reports whether a step is neither at the error nor in what only counts its rounds in
// the function that died.
func (s *Story) elsewhere(k, maker *Hop) bool {
	return !k.sameLine(maker) &&
		(k.Function != s.At.Function || k.Store || k.How == "deleted" || k.How == "device" ||
			k.How == "never")
}

// unequal is for a comparison of what memequal has answered: the first bytes that differ, and the
// call's start.
func (w *Why) unequal(path []entry, compare int) (at int, from []place, ok bool) {
	if compare == 0 || path[compare-1].inst.Op != x86asm.RET {
		return 0, nil, false
	}
	start, _ := w.file.FuncStart(path[compare-1].pc)
	if start == 0 || start != w.entry("runtime.memequal") {
		return 0, nil, false
	}
	i := w.last(path[:compare], start)
	if i < 0 {
		return 0, nil, false
	}
	p, q := path[i].gpr[rax], path[i].gpr[rbx]
	n := path[i].gpr[rcx]
	a, b := w.at.bytes(p, n), w.at.bytes(q, n)
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return i, []place{bytesAt(p+uint64(k), 1), bytesAt(q+uint64(k), 1)}, true
		}
	}
	return 0, nil, false
}

// withoutCounters leaves out what only counts the rounds of a loop, if it was compared with what is
// the same in each.
func (w *Why) withoutCounters(path []entry, compare int, from []place) []place {
	if len(from) != 2 || from[0].kind != inRegister || from[1].kind != inRegister {
		return from
	}
	now := &path[compare]
	for i := compare - 1; i >= 0; i-- {
		e := &path[i]
		if e.pc != now.pc || e.gpr[rsp] != now.gpr[rsp] {
			continue
		}
		for n, p := range from {
			if q := from[1-n]; e.gpr[p.reg] != now.gpr[p.reg] && e.gpr[q.reg] == now.gpr[q.reg] {
				return []place{q}
			}
		}
		break
	}
	return from
}

// shorter reports whether a step has made a word less than it was: a look-up that has come to its
// end without a hit is due to that, and not to what has made it more.
func (w *Why) shorter(h *Hop) (bool, error) {
	if !h.Store || h.to.kind != inMemory {
		return false, nil
	}
	if _, err := w.pathTo(h.Count, 1); err != nil {
		return false, err
	}
	before, ok := w.at.word(h.to.addr)
	return ok && before > h.Value, nil
}

// flags are the places that were compared last before path[i], which has made a value of the
// answer.
func (w *Why) flags(path []entry, i int) []place {
	for k := i - 1; k >= max(0, i-4); k-- {
		if forms[path[k].inst.Op] == compares {
			return w.compared(&path[k])
		}
	}
	return nil
}

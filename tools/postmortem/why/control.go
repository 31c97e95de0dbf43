package why

import (
	"fmt"
	"slices"
)

// A word that should have been written again, and was not: in an earlier round the program came to
// the write, and when it was last in front of the branch that decides on it, it went the other way.

// leftAlone adds to a story, which does not know which of two values is off, why the word that one
// of them came from was not written again. heals is the verdict on that value. Somebody is named
// only if the death would not have come about but for what he has done.
func (w *Why) leftAlone(s *Story, path []entry, at int, p place, heals verdict) error {
	hops, _, err := w.chain(s, path, at, p,
		func(h *Hop) bool { return h.Own && h.Store && h.By == "" })
	n := len(hops) - 1
	if err != nil || n < 0 || !hops[n].Store {
		return err
	}
	if slices.ContainsFunc(hops[:n], func(h Hop) bool { return h.How != "copied" }) {
		heals = nil // what the word would have had to be is not known
	}
	if path, err = w.pathTo(hops[n].Count, windows[0]); err != nil {
		return err
	}
	path, compare, jump, ok, err := w.decided(path, &hops[n])
	if err != nil || !ok {
		return err
	}
	return w.passedBy(s, path[compare:jump+2], w.objects(path, compare), &hops[n], heals)
}

// objects are the places that a pointer led to whose values path[compare] compares: the same ones
// if the code was about the same object.
func (w *Why) objects(path []entry, compare int) (all []place) {
	for _, p := range w.compared(&path[compare]) {
		by := compare
		if p.kind == inRegister {
			d, ok := w.lastDef(path, compare, p)
			if p, by = d.source, d.index; !ok || d.effect.how != copied {
				continue
			}
		}
		if p.kind == inMemory && path[by].byPointer(0) {
			all = append(all, p)
		}
	}
	return all
}

// about reports whether path[compare] compares the value of one of the objects.
func (w *Why) about(path []entry, compare int, objects []place) bool {
	return slices.ContainsFunc(w.objects(path, compare),
		func(p place) bool { return slices.Contains(objects, p) })
}

// otherWay returns the path over a branch that was come to again after count instructions, and its
// comparison there; below 0 if it went as then, or has not come to the jump. then are the
// instructions from the comparison to the one behind the jump.
func (w *Why) otherWay(then []entry, count uint64) (path []entry, at int, err error) {
	n := len(then) - 1
	compare, jump := &then[0], &then[n-1]
	sp, jumps := uint64(0), uint64(0)
	path, err = w.pathOver(count, windows[0], func(e *entry) bool {
		same := e.count >= count && e.gpr[rsp] == sp
		switch {
		case e.count <= count:
			sp = e.gpr[rsp]
		case jumps > 0 && e.count > jumps, same && e.pc == compare.pc:
			return true // behind the jump, or in another round
		}
		if jumps = 0; same && e.pc == jump.pc {
			jumps = e.count // unless an interrupt comes first
		}
		return e.count > count+windows[1]
	})
	if err != nil {
		if over(err) && w.ctx.Err() == nil {
			err = nil // it has not come to the jump
		}
		return nil, -1, err
	}
	end := len(path) - 1
	for at = end; at >= 0 && path[at].count > count; at-- {
	}
	if at < 0 || path[at].pc != compare.pc || path[end-1].pc != jump.pc ||
		path[end-1].gpr[rsp] != sp || path[end].pc == then[n].pc || path[end].inst.Op == 0 {
		at = -1
	}
	return path, at, nil
}

// passedBy is for a write that was not reached again: branch are the instructions from the
// comparison to the one behind the jump when it was reached, which has compared those objects.
func (w *Why) passedBy(s *Story, branch []entry, objects []place, write *Hop, heals verdict) error {
	first := &branch[0]
	count, err := w.lastCall(write.Count+1, s.Count, []uint64{first.pc}, nil)
	if err != nil || count == 0 {
		return err
	}
	path, at, err := w.otherWay(branch, count)
	if err != nil || at < 0 || !w.about(path, at, objects) {
		return err // perhaps it was about another one of the kind
	}
	// Which of the two was written then, and what would be written now?
	before, now := w.compared(first), w.compared(&path[at])
	k := slices.IndexFunc(before, func(q place) bool {
		v, ok := w.valueAt(branch, 0, q)
		return ok &&
			v == write.Value
	})
	f := fork{path: path, at: at, narrows: true}
	healed := false
	switch {
	case len(now) != len(before) || len(now) == 0:
		return nil
	case k >= 0 && len(now) == 2 && heals != nil && heals(w.value(path, at, now[k])):
		f.p, healed = now[1-k], true // all would be well, but for the other one
	default:
		f.p = now[max(k, 0)]
	}
	v, ok := w.valueAt(path, at, f.p)
	if !ok {
		return nil
	}
	here := w.hop(path, at)
	f.what = fmt.Sprintf("nothing else wrote it; the branch at %s, taken by %s (%#x), decides",
		where(&here), f.p, v)
	if err := w.followWays(s, []fork{f}); err != nil {
		return err
	}
	// What was as it is when the word was written has not led the program astray.
	h, made := s.culprit(&s.Causes[len(s.Causes)-1])
	if healed && made && h.Count > write.Count &&
		(h.Function != write.Function || h.Goroutine != write.Goroutine) {
		s.Open, s.Culprit = "", h
	}
	return nil
}

// narrows returns what d has written if only a part of it was read as p and that is another number,
// else 0. Which line meant to cut it cannot be told: by the type of a variable there is no more
// than the part.
func (w *Why) narrows(path []entry, d def, p place, value uint64) (whole uint64) {
	f := &d.effect
	if f.to.size <= p.size || p.kind == inMemory && p.addr != f.to.addr {
		return 0
	}
	if whole = w.valueOf(path, d) & f.to.mask(); whole == value&p.mask() {
		return 0
	}
	return whole
}

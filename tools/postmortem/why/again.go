package why

import (
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// A word that the program adds to, and sets anew from time to time. If it was not set anew any
// more, who has added to it as ever is not to blame, but what has led the program past the write.

// mostOuter bounds how many branches on the way to that write are asked about.
const mostOuter = 4

// A series is what is known of the writes to such a word.
type series struct {
	reset hit // the last write that was no addition
	first hit // the first addition after it
	since int // how many there were
	// what the word held before the last of them that there were in earlier rounds, at most
	usual       uint64
	least, most int // how many there were in earlier rounds
	rounds      int // from one write by the instruction of reset to the next
}

// seriesOf tells the series of the writes to a word, the earliest first; adds are where the CPU
// stands behind an addition. ok is false if there were no more additions than in earlier rounds, or
// there was no earlier round.
func seriesOf(hits []hit, adds map[uint64]bool) (r series, ok bool) {
	end := len(hits) - 1
	for ; end >= 0 && adds[hits[end].at.pc]; end-- {
		r.first = hits[end]
		r.since++
	}
	if end < 0 || r.since == 0 {
		return r, false
	}
	r.reset = hits[end]
	n := 0
	for i := end - 1; i >= 0; i-- {
		switch pc := hits[i].at.pc; {
		case adds[pc]:
			n++
			continue
		case pc != r.reset.at.pc:
			i = 0 // what was before need not be the same word
			continue
		case r.rounds == 0:
			r.least = n
		}
		r.least, r.most = min(r.least, n), max(r.most, n)
		r.rounds++
		n = 0
	}
	if r.rounds == 0 || r.since <= r.most {
		return r, false
	}
	r.usual = hits[len(hits)-1-r.most].value
	return r, true
}

// regular reports whether each earlier round was like the others.
func (r *series) regular() bool { return r.rounds > 1 && r.least == r.most }

// sum finds the addition in the way of the culprit's value: the write of a word that was computed
// of what the same word held before. adds are where the CPU stands behind such.
func (w *Why) sum(s *Story) (h *Hop, adds map[uint64]bool) {
	same := func(h *Hop, to place) bool {
		return h.Store && h.to.kind == inMemory &&
			h.to.addr == to.addr
	}
	for i := range s.Causes {
		hops := s.Causes[i].Hops
		at := slices.IndexFunc(hops, func(k Hop) bool {
			return k.Count == s.Culprit.Count &&
				k.PC == s.Culprit.PC
		})
		for a := 0; a <= at && h == nil; a++ {
			for b := a + 1; b < len(hops); b++ {
				computed := func(k Hop) bool { return k.How == "computed" }
				if b <= at || !same(&hops[a], hops[a].to) || !same(&hops[b], hops[a].to) ||
					!slices.ContainsFunc(hops[a:b], computed) {
					continue
				}
				if h == nil {
					h, adds = &hops[a], map[uint64]bool{}
				}
				pc := hops[a].PC
				adds[pc+uint64(w.insts[pc].Len)] = true
			}
		}
	}
	return h, adds
}

// notSetAnew looks whether the culprit has only added to a word as ever, which was set anew in
// earlier rounds and now was not. Then it is not to blame alone; what has led past the write is, if
// that can be told.
func (w *Why) notSetAnew(s *Story) error {
	sum, adds := w.sum(s)
	if sum == nil || sum.to.size > 8 || sum.to.size&(sum.to.size-1) != 0 {
		return nil
	}
	w.say("who has written %s, until instruction %d", sum.to, sum.Count+1)
	m, err := w.start()
	if err != nil {
		return err
	}
	hits, _, err := m.writes(sum.to, sum.Count+2, mostWriters, nil, nil)
	m.End()
	if err != nil {
		return err
	}
	r, ok := seriesOf(hits, adds)
	if !ok {
		return nil
	}
	path, reset, err := w.hopAt(r.reset.count - 1)
	if err != nil || !reset.Own {
		return err
	}
	b, ok, err := w.pastWrite(s, path, &reset, sum.to)
	if err != nil || !ok && !r.regular() {
		return err
	}
	before := r.usual // the additions that would have come after it
	for i := range hits {
		if ok && hits[i].count <= b.path[b.at].count {
			before = hits[i].value
		}
	}
	set := r.reset.value
	if k := slices.IndexFunc(hits, func(h hit) bool { return h.count == r.reset.count }); k > 0 &&
		adding[path[len(path)-1].inst.Op] {
		set += before - hits[k-1].value // it has added, too
	}
	if sum.heals != nil && !sum.heals((sum.Value-before+set)&mask(sum.to.size)) {
		return nil // it would have died all the same
	}
	maker := *s.Culprit
	s.Open = fmt.Sprintf(
		cannotTell+"%s set %s anew in earlier rounds, and has not since instruction %d: what has kept it from that may be to blame", reset.Where(), sum.to, r.reset.count)
	if s.blame(); !ok || b.p == (place{}) {
		return nil
	}
	if err := w.followWays(s, []fork{b.fork}); err != nil {
		return err
	}
	h, made := s.culprit(&s.Causes[len(s.Causes)-1])
	switch {
	case !made || h.Count <= r.reset.count || s.Causes[len(s.Causes)-1].Untold:
	case r.regular() && b.same && sum.heals != nil && h.Count > r.first.count:
		s.Open, s.Culprit = "", h
	default:
		s.Open, s.OneOf = "", []Hop{*h, maker}
	}
	return nil
}

// adding are the instructions that add to a word in memory.
var adding = map[x86asm.Op]bool{x86asm.ADD: true, x86asm.SUB: true, x86asm.INC: true,
	x86asm.DEC: true, x86asm.XADD: true}

// A parting is a branch that has led past a write.
type parting struct {
	fork      // at is the comparison, p what it compared that has changed; none: it cannot be told
	same bool // it was about the same word for certain
}

// pastWrite finds the branch on the way to a write, which is the last instruction of a path, that
// has led past it since: of those that the program has come to again the innermost one, when it was
// there last.
func (w *Why) pastWrite(s *Story, path []entry, write *Hop,
	to place) (b parting, ok bool, err error) {
	mem, _ := path[len(path)-1].inst.Args[0].(x86asm.Mem)
	next := path[len(path)-1].next()
	type branch struct{ compare, jump int }
	branches, told, pcs := map[uint64]branch{}, map[uint64]bool{}, []uint64{}
	for n := range mostOuter {
		var compare, jump int
		if n == 0 {
			path, compare, jump, ok, err = w.decided(path, write)
		} else {
			compare, jump, ok, _ = w.decider(path, write, n)
		}
		if err != nil {
			return b, false, err
		}
		if !ok {
			break
		}
		e := &path[compare]
		branches[e.pc], told[e.pc] = branch{compare, jump}, mem.Base != 0 &&
			e.addressOf(mem, next) == to.addr
		pcs = append(pcs, e.pc)
	}
	latest := map[uint64]uint64{}
	_, err = w.lastCall(write.Count+1, s.Count, pcs, func(_ *machine, e *entry) bool {
		if told[e.pc] && e.addressOf(mem, next) != to.addr {
			return false // it was about another one
		}
		latest[e.pc] = e.count
		return true
	})
	k := slices.IndexFunc(pcs, func(pc uint64) bool { return latest[pc] > 0 })
	if err != nil || k < 0 {
		return b, false, err
	}
	last := pcs[k]
	then := path[branches[last].compare : branches[last].jump+2]
	objects := w.objects(path, branches[last].compare)
	if b.path, b.at, err = w.otherWay(then, latest[last]); err != nil || b.at < 0 {
		return b, false, err
	}
	b.narrows = true
	b.same = told[last] || w.about(b.path, b.at, objects)
	if !b.same && b.path[b.at].gpr[rsp] != then[0].gpr[rsp] {
		return b, false, nil
	}
	w.setChanged(&b, then)
	return b, true, nil
}

// setChanged notes which of the values that the branch compares is another one than it was then, if
// it is one.
func (w *Why) setChanged(b *parting, then []entry) {
	was, now := w.compared(&then[0]), w.compared(&b.path[b.at])
	changed := 0
	for k := range min(len(was), len(now)) {
		v, known := w.valueAt(b.path, b.at, now[k])
		if old, ok := w.valueAt(then, 0, was[k]); !known || ok && v == old {
			continue
		}
		here := w.hop(b.path, b.at)
		b.p, b.what = now[k],
			fmt.Sprintf("nothing has set it anew; the branch at %s, taken by %s (%#x), decides",
				where(&here), now[k], v)
		changed++
	}
	if changed != 1 {
		b.p = place{}
	}
}

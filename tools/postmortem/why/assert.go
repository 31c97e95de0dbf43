package why

import (
	"slices"
	"strings"
)

// A failed assertion of a test: the condition that guarded the call of t.Errorf, and the values
// that it compared. Which of two compared values is off the recording does not say: both are
// followed. A literal of the test itself is what was wanted, and is not to blame if the other value
// was made elsewhere.

// mostConditions bounds how many conditions of one line are followed, as in `a != 1 && b != 2`.
const mostConditions = 3

// isAssertion reports whether an event is a test that fails by its own word.
func isAssertion(v *event) bool {
	return tellers[v.function] != nil && strings.HasPrefix(v.function, "testing.")
}

// asserted tells of a failed assertion.
func (w *Why) asserted(s *Story, v *event) error {
	s.assertion = true
	s.Death = "a test has failed by " + v.function[strings.LastIndexByte(v.function, '.')+1:]
	count := v.count
	for i, n := range windows {
		path, err := w.pathTo(count, n)
		if err != nil {
			return err
		}
		call, ok := w.ownCallOf(path, len(path)-1)
		if !ok {
			continue
		}
		h := w.hop(path, call)
		compare, jump, ok, more := w.decider(path[:call+1], &h, 0)
		if ok {
			return w.conditions(s, path, call, compare, jump)
		}
		if !more {
			return nil
		}
		if i == 0 && v.function[len(v.function)-1] != 'f' {
			if count, err = w.logged(path[call], count); err != nil {
				return err
			}
		}
	}
	return nil
}

// logged is for a test that has said what it fails for by t.Log, which takes long, and failed then:
// the call of t.Log instead of the later one, if whoever came there had to come to the later one.
func (w *Why) logged(fail entry, count uint64) (uint64, error) {
	entries := []uint64{w.entry("testing.(*common).Log"), w.entry("testing.(*common).Logf")}
	last, err := w.lastCall(0, count, entries, func(m *machine, e *entry) bool {
		ra, _ := m.word(e.gpr[rsp])
		const g = 14 // in Go's internal ABI; the stack may have been moved meanwhile
		return e.gpr[g] == fail.gpr[g] && w.bound(ra, fail.pc, m.decode)
	})
	if err != nil || last == 0 {
		return count, err
	}
	return last, nil
}

// conditions follows what the conditions compared that are in one line and led to path[call], the
// last one first.
func (w *Why) conditions(s *Story, path []entry, call, compare, jump int) error {
	s.At, s.Count = w.hop(path, compare), path[compare].count
	failed := w.hop(path, call)
	var counts [][2]uint64
	for line := w.outermost(path[compare].pc); len(counts) < mostConditions; {
		counts = append(counts, [2]uint64{path[compare].count, path[jump].count})
		at, to, ok, _ := w.decider(path[:call+1], &failed, len(counts))
		if !ok || w.outermost(path[at].pc) != line {
			break
		}
		compare, jump = at, to
	}
	var all []Hop // who may be to blame, by condition
	lost := false
	for _, c := range counts {
		path, err := w.pathTo(c[1]+1, max(windows[0], c[1]+1-c[0]))
		if err != nil {
			s.Unfinished = true
			return err
		}
		before := s.Causes
		s.Causes, s.Culprit, s.OneOf = nil, nil, nil
		back := len(path) - 1
		for back > 0 && path[back].count > c[0] {
			back--
		}
		err = w.condition(s, path, back)
		s.Causes = append(before, s.Causes...)
		if s.Culprit != nil {
			all = append(all, *s.Culprit)
		}
		all = append(all, s.OneOf...)
		lost = lost || s.Culprit == nil
		if err != nil {
			s.Culprit, s.OneOf = nil, nil
			return err
		}
	}
	s.blameOne(all, lost)
	return nil
}

// blameOne blames the one place of all, or says that it is one of several.
func (s *Story) blameOne(all []Hop, lost bool) {
	s.Culprit, s.OneOf = nil, nil
	for i := range all {
		s.addOne(&all[i])
	}
	if len(s.OneOf) == 1 && !lost {
		s.Culprit, s.OneOf = &s.OneOf[0], nil
	}
}

// outermost is the place of the source at an instruction, of the function that it was compiled in.
func (w *Why) outermost(pc uint64) (at struct {
	file string
	line int
}) {
	if c := w.file.Lookup(pc, false); len(c) > 0 {
		at.file, at.line = c[len(c)-1].File, c[len(c)-1].Line
	}
	return at
}

// condition follows what one condition compared.
func (w *Why) condition(s *Story, path []entry, compare int) error {
	at, from := compare, w.compared(&path[compare])
	if told, err := w.comparedError(s, path, compare, from); told || err != nil {
		return err
	}
	if i, p, ok := w.unequal(path, compare); ok {
		at, from = i, p
	}
	for i, p := range from[:min(len(from), 2)] {
		if i > 0 {
			var err error
			if path, at, err = w.pathAgain(path, at); err != nil {
				return err
			}
		}
		f := fork{path: path, at: at, p: p}
		first := len(s.Causes)
		if err := w.followAs(s, path, at, p, w.what(&f)); err != nil {
			return err
		}
		c := &s.Causes[first]
		_, made := s.culprit(c)
		if h := c.answer(from); !made && h != nil {
			return w.whyThere(s, h)
		}
	}
	s.blameCompared()
	return nil
}

// blameCompared blames of the values that a failed assertion compared. Where several may be to
// blame, nobody is blamed alone.
func (s *Story) blameCompared() {
	if all := s.Causes; slices.ContainsFunc(all, func(c Cause) bool { return !c.literal() }) {
		for i := range all {
			all[i].wanted = all[i].literal()
		}
	}
	s.either = true
	s.blame()
}

// blameAsked blames of the values that a function compared which has answered a failed assertion.
func (s *Story) blameAsked(causes []Cause, maker *Hop) {
	var all []Hop
	lost := false
	for i := range causes {
		k, made := s.culprit(&causes[i])
		switch {
		case causes[i].literal() && len(causes) > 1:
		case made && s.elsewhere(k, maker):
			all = append(all, *k)
		case k == nil || causes[i].Untold:
			lost = true
		}
	}
	s.blameOne(all, lost)
}

// literal reports whether a value is a constant of the test's own source.
func (c *Cause) literal() bool {
	if c.Untold || c.Forked {
		return false
	}
	for i := range c.Hops {
		if h := &c.Hops[i]; h.How != "copied" && h.How != "constant" ||
			!strings.HasSuffix(h.File, "_test.go") {
			return false
		}
	}
	return strings.HasPrefix(c.End, "the constant") ||
		strings.HasPrefix(c.End, "it is in the image") || strings.HasSuffix(c.End, loadedSo)
}

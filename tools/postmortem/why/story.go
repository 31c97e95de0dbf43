package why

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// mostLines bounds a story as it is written.
const mostLines = 12

// Lines returns the story in at most twelve lines, the latest first.
func (s *Story) Lines() []string {
	lines := []string{s.Death}
	if s.At.Function != "" {
		lines[0] += " in " + where(&s.At)
	}
	if h := s.Culprit; h != nil {
		how := "made so by "
		if h.How == "never" {
			if how = "never written since it was made by "; strings.HasPrefix(h.Place, "the key") {
				how = "never written: " + h.Place + " is looked up by "
			}
		}
		lines = append(lines, how+where(h))
	}
	if s.Open != "" {
		lines = append(lines, s.Open)
	} else if s.untold() {
		lines = append(lines, cannotTell+"whose doing it is; this is how the value came there")
	}
	for i := range s.OneOf {
		lines = append(lines, "one of: "+where(&s.OneOf[i]))
	}
	most := 0 // the cause that gets the most room: the culprit's, or the one behind what is open
	if s.Open != "" {
		most = max(0, len(s.Causes)-1)
	}
	for i := range s.Causes {
		if h, _ := s.culprit(&s.Causes[i]); h != nil && s.Culprit != nil && h.Count == s.Culprit.Count {
			most = i
		}
	}
	room := mostLines - len(lines)
	each := max(1, min(3, (room-3)/max(1, len(s.Causes)-1)))
	for i := range s.Causes {
		if i == most {
			lines = append(lines, s.Causes[i].lines(s, room-each*(len(s.Causes)-1))...)
		} else {
			lines = append(lines, s.Causes[i].lines(s, each)...)
		}
	}
	return lines
}

// untold reports whether nobody is named although values were followed, and none of them says why.
func (s *Story) untold() bool {
	return s.Culprit == nil && len(s.OneOf) == 0 && !s.Unfinished && len(s.Causes) > 0 &&
		!slices.ContainsFunc(s.Causes, func(c Cause) bool { return c.Untold })
}

// Verb says how the value was made.
func (h *Hop) Verb() string {
	if h.How == "never" && strings.HasPrefix(h.Place, "the key") {
		return "looked it up in vain"
	}
	return map[string]string{"copied": "took it", "computed": "computed it", "constant": "made it",
		"input": "read it", "unknown": "made it", "device": "got it", "deleted": "deleted the key",
		"error": "made the error", "never": "made it, unset"}[h.How]
}

// where names the place of a hop, with its text.
func where(h *Hop) string {
	t := h.Where()
	if h.Source != "" {
		t += ": " + h.Source
	}
	return t
}

// Where names the place of a hop.
func (h *Hop) Where() string {
	t := h.Function
	if h.File != "" {
		t += fmt.Sprintf(" (%s:%d)", filepath.Base(h.File), h.Line)
	}
	if h.Goroutine != 0 {
		t += fmt.Sprintf(", goroutine %d", h.Goroutine)
	}
	return t
}

// Steps are the hops that say something new: those of a source line are one, with what it has made
// in the end, unless it has written more than once; and the last one.
func (c *Cause) Steps() (steps []Hop) {
	stored := false // by the step
	for i, h := range c.Hops {
		if i > 0 {
			if last := &steps[len(steps)-1]; last.sameLine(&h) && last.Goroutine == h.Goroutine &&
				!(stored && h.Store) {
				h.Alternatives = append(last.Alternatives, h.Alternatives...)
				h.Value = last.Value // what the line has made
				h.Whole = max(h.Whole, last.Whole)
				if last.How == "computed" {
					h.How = last.How
				}
				stored = stored || h.Store
				*last = h
				continue
			}
		}
		stored = h.Store
		steps = append(steps, h)
	}
	return steps
}

// culprit is the device that has written the value, or the program's own place that has made the
// value what it was, outside the place of the death: what has computed it, read it from outside or
// written a constant to memory; of a value that was only copied on from there, the write that has
// brought it to memory first, or the goroutine that has sent it out of its own frame, or the callee
// that has returned it as a constant. If there is none,
// it is where the value began, and made is false. Where one call of a function has computed the
// value and written it to memory itself, the write is named: until then the word was what it had
// been. nil if that cannot be told.
func (s *Story) culprit(c *Cause) (h *Hop, made bool) {
	high := uint64(0) // the outermost stack pointer behind h
	passed := false   // over a sum that is as ever
	for i := range c.Hops {
		k := &c.Hops[i]
		if k.How == "device" || (k.How == "deleted" || k.How == "never") && k.Own {
			return k, true // behind a device's comes the way of the buffer's address
		}
		if made && k.Own && k.Goroutine == h.Goroutine && k.How != "constant" {
			high = max(high, k.sp)
		}
		// A channel hands over what is in a sender's frame: who receives has copied it, no more.
		sent := made && k.How == "copied" && h.How == "copied" && k.Goroutine != 0 && h.Goroutine != 0 &&
			k.Goroutine != h.Goroutine
		switch here := k.sameLine(&s.At); {
		case !k.Own || k.How == "unknown" || made && here:
		case made && k.How == "constant" && k.Value != 0 && s.Death == badType:
			return k, true // who has made an interface of it: others have handed it on
		case k.passing && !here:
			if passed = true; !made {
				h, made, high = k, true, k.sp
			}
		case passed && !here && k.How == "constant":
			return k, true // an argument that is off
		case !here && (k.Store || sent || k.How == "computed" && !k.turned || made && k.How == "input"):
			if made && h.wroteItself(k) {
				return h, true
			}
			if h, made, high = k, true, k.sp; k.How != "copied" || k.outside {
				return h, true
			}
		case !made:
			h = k
		case k.How == "constant" && k.Goroutine == h.Goroutine && k.sp != 0 && k.sp < high:
			return k, true // a caller's constant would be an argument: what has become of it is h's doing
		}
	}
	return h, made
}

// settled reports whether whatever comes behind these hops changes nothing about who is to blame.
func (s *Story) settled(hops []Hop) bool {
	a, made := s.culprit(&Cause{Hops: hops})
	if !made {
		return false
	}
	b, _ := s.culprit(&Cause{Hops: append(hops[:len(hops):len(hops)],
		Hop{Function: "another", Own: true, How: "computed"})})
	return a.Count == b.Count && a.PC == b.PC
}

// wroteItself reports whether the call of a function that has written the value at h has computed
// it at k.
func (h *Hop) wroteItself(k *Hop) bool {
	return h.Store && h.By == "" && k.How == "computed" && h.Function == k.Function &&
		h.Goroutine == k.Goroutine && h.sp != 0 && h.sp == k.sp
}

// stored reports whether the call that has computed a value has then written it to memory itself,
// and only copied it on the way there.
func (h *Hop) stored(hops []Hop) bool {
	for i := len(hops) - 1; i >= 0 && hops[i].How == "copied"; i-- {
		if hops[i].wroteItself(h) {
			return true
		}
	}
	return false
}

// sameLine reports whether two steps are of one line of the source.
func (h *Hop) sameLine(k *Hop) bool { return h.Function == k.Function && h.Line == k.Line }

// addOne adds a place to OneOf, once.
func (s *Story) addOne(h *Hop) {
	if !slices.ContainsFunc(s.OneOf, func(k Hop) bool { return k.sameLine(h) }) {
		s.OneOf = append(s.OneOf, *h)
	}
}

// blame sets Culprit: that of the cause that was the latest to become what it was. A constant that
// is an argument, or is in the place of the death, has not become anything. Where a way was lost,
// or forks, or nothing tells an index from its bound, and several may be to blame, it sets OneOf.
func (s *Story) blame() {
	s.Culprit, s.OneOf, s.made = nil, nil, false
	var found, others, sums []*Hop // by those that were made, and not
	open := s.either
	for i := range s.Causes {
		c := &s.Causes[i]
		if c.wanted {
			continue
		}
		open = open || c.Forked
		switch h, made := s.culprit(c); {
		case h == nil:
			open = open || c.Untold
		case c.Forked:
			sums = append(sums, h)
		case c.Untold && (!made || slices.ContainsFunc(c.Hops,
			func(k Hop) bool { return k.passing && k.Count <= h.Count })):
			open = true // where it was seen last is not where it began
		case made:
			found = append(found, h)
		default:
			others = append(others, h)
		}
	}
	// A package's initialization has changed nothing.
	later := func(h *Hop) bool { return !strings.HasSuffix(h.Function, ".init") }
	if s.either && slices.ContainsFunc(found, later) {
		found = slices.DeleteFunc(found, func(h *Hop) bool { return !later(h) })
	}
	for _, all := range [][]*Hop{found, sums, others} {
		for _, h := range all {
			if s.Culprit == nil || h.Count > s.Culprit.Count {
				s.Culprit = h
			}
			s.addOne(h)
		}
		if len(all) > 0 {
			break
		}
	}
	s.made = len(found) > 0 || len(sums) > 0
	if s.Open != "" {
		s.Culprit, s.OneOf = nil, nil
		return
	}
	lost := slices.ContainsFunc(s.Causes, func(c Cause) bool { return c.Untold })
	if open && (len(s.OneOf) > 1 || lost) {
		s.Culprit = nil
	} else {
		s.OneOf = nil
	}
}

// lines says it in room lines at most. The step of who may be to blame is among them.
func (c *Cause) lines(s *Story, room int) []string {
	steps := c.Steps()
	if room < 3 {
		return []string{c.What + " = " + c.End}
	}
	lines := []string{c.What}
	n := len(steps)
	show := map[int]bool{}
	add := func(i int) {
		if len(show) < room-2 && i >= 0 && i < n {
			show[i] = true
		}
	}
	if n > room-2 {
		room-- // says how many are left out
	}
	if h, _ := s.culprit(c); h != nil {
		add(slices.IndexFunc(steps, func(k Hop) bool {
			return k.sameLine(h) && k.Goroutine == h.Goroutine
		}))
	}
	add(n - 1)
	for i := range steps {
		add(i)
	}
	hidden := n - len(show)
	for i := range steps {
		if show[i] {
			lines = append(lines, steps[i].said(s))
		} else if hidden > 0 {
			lines = append(lines, fmt.Sprintf("... %d more steps", hidden))
			hidden = 0
		}
	}
	return append(lines, "= "+c.End)
}

// said says a step in a line.
func (h *Hop) said(s *Story) string {
	t := h.Verb()
	if h.How != "deleted" && h.How != "error" {
		t += fmt.Sprintf(" (%#x)", h.Value)
	}
	if h.Count != 0 { // of a device it may be unknown
		t += fmt.Sprintf(", %d instructions before", s.Count-min(h.Count, s.Count))
	}
	t += ": " + where(h)
	if h.By != "" {
		t += " (by " + h.By + ")"
	}
	if h.Whole != 0 {
		t += fmt.Sprintf("; the lower part of %#x", h.Whole)
	}
	if len(h.Alternatives) > 0 {
		t += fmt.Sprintf("; also of %s", strings.Join(h.Alternatives, ", "))
	}
	return t
}

package why

import (
	"fmt"
	"io"
	"path/filepath"
)

// mostLines bounds a story as it is written.
const mostLines = 12

// Lines returns the story in at most twelve lines, the latest first.
func (s *Story) Lines() []string {
	lines := []string{fmt.Sprintf("%s in %s", s.Death, where(&s.At))}
	for i, c := range s.Causes {
		room := mostLines - len(lines) - 2*(len(s.Causes)-i-1)
		lines = append(lines, c.lines(s, room)...)
	}
	return lines
}

// Write writes it.
func (s *Story) Write(out io.Writer) error {
	for i, l := range s.Lines() {
		if i > 0 {
			l = "  " + l
		}
		if _, err := fmt.Fprintln(out, l); err != nil {
			return err
		}
	}
	return nil
}

// place2 names the place of a hop, with its text.
func where(h *Hop) string {
	t := h.Function
	if h.File != "" {
		t += fmt.Sprintf(" (%s:%d)", filepath.Base(h.File), h.Line)
	}
	if h.Goroutine != 0 {
		t += fmt.Sprintf(", goroutine %d", h.Goroutine)
	}
	if h.Source != "" {
		t += ": " + h.Source
	}
	return t
}

// Steps are the hops that say something new: those of a source line are one, the earliest; and the last one.
func (c *Cause) Steps() (steps []Hop) {
	for i, h := range c.Hops {
		if len(steps) > 0 && i < len(c.Hops) {
			if last := &steps[len(steps)-1]; last.Function == h.Function && last.Line == h.Line && last.Goroutine == h.Goroutine {
				alternatives := append(last.Alternatives, h.Alternatives...)
				*last = h
				last.Alternatives = alternatives
				continue
			}
		}
		steps = append(steps, h)
	}
	return steps
}

// Culprit is the program's own place that has made the value what it was: the last write to memory, or the last
// computation, that is not at the place of the death; or else where the value began, and made is false. nil if that
// cannot be told.
func (s *Story) culprit(c *Cause) (h *Hop, made bool) {
	for i := range c.Hops {
		k := &c.Hops[i]
		if !k.Own || k.How == "unknown" {
			continue
		}
		h = k
		if here := h.Function == s.At.Function && h.Line == s.At.Line; !here && (h.Store || h.How == "computed") {
			return h, true
		}
	}
	return h, false
}

// Culprit returns it of the cause that was the latest to become what it was. A constant that is an argument, or is in
// the place of the death, has not become anything.
func (s *Story) Culprit() (h *Hop) {
	made := false
	for i := range s.Causes {
		c, m := s.culprit(&s.Causes[i])
		if c != nil && (h == nil || m && !made || m == made && c.Count > h.Count) {
			h, made = c, m
		}
	}
	return h
}

func (c *Cause) lines(s *Story, room int) []string {
	lines := []string{c.What}
	steps := c.Steps()
	for i := range steps {
		h := &steps[i]
		if len(lines) > room-2 && i < len(steps)-1 {
			if i == len(steps)-2 || len(lines) == room-1 {
				lines = append(lines, fmt.Sprintf("... %d more steps", len(steps)-1-i))
			}
			h = &steps[len(steps)-1]
			i = len(steps) - 1
		}
		verb := map[string]string{"copied": "took it", "computed": "computed it", "constant": "made it", "input": "read it", "unknown": "made it"}[h.How]
		t := fmt.Sprintf("%s (%#x), %d instructions before: %s", verb, h.Value, s.Count-min(h.Count, s.Count), where(h))
		if h.By != "" {
			t += " (by " + h.By + ")"
		}
		if len(h.Alternatives) > 0 {
			t += fmt.Sprintf("; also of %v", h.Alternatives)
		}
		lines = append(lines, t)
		if i == len(steps)-1 {
			break
		}
	}
	return append(lines, "= "+c.End)
}

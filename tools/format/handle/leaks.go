package handle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Use is what one stack has open of one kind, at one time or as the difference of two.
type Use struct {
	Kind   string
	Frames []Frame
	Whole  bool // the stack is complete
	Count  int64
	Bytes  int64 // 0 for kinds whose sizes are no bytes

	Before, After int64 // counts, in a difference
}

// Uses returns what is open, by kind and stack.
func (s *Snapshot) Uses() (all []Use) {
	for _, k := range s.Kinds {
		for _, g := range s.Groups(k.ID) {
			u := Use{Kind: k.Name, Count: int64(len(g.Handles))}
			u.Frames, u.Whole = s.Stack(g.Stack)
			if HasBytes(k.ID) {
				u.Bytes = int64(min(g.Bytes, math.MaxInt64))
			}
			all = append(all, u)
		}
	}
	return all
}

// Grown reports whether a difference is one of growth.
func (u *Use) Grown() bool { return u.Bytes > 0 || u.Bytes == 0 && u.Count > 0 }

// key tells stacks apart. With names, functions and lines are what counts, so that two
// builds can be compared.
func (u *Use) key() string {
	var b strings.Builder
	b.WriteString(u.Kind)
	for _, f := range u.Frames {
		if len(f.Calls) == 0 {
			fmt.Fprintf(&b, " %d %#x %d %d", f.Kind, f.Addr, f.Vector, f.Number)
		}
		for _, c := range f.Calls {
			fmt.Fprintf(&b, " %s:%d", c.Function, c.Line)
		}
	}
	return b.String()
}

// uses are uses of different stacks, in the order in which they came.
type uses struct {
	all []Use
	by  map[string]int
}

// like returns the one with the kind and the stack of u, of which there is nothing if it is new.
func (l *uses) like(u *Use) *Use {
	k := u.key()
	i, ok := l.by[k]
	if !ok {
		if i = len(l.all); i == 0 {
			l.by = map[string]int{}
		}
		l.by[k] = i
		l.all = append(l.all, Use{Kind: u.Kind, Frames: u.Frames, Whole: u.Whole})
	}
	return &l.all[i]
}

// Grown returns the difference of two lists: what has grown, the largest growth in bytes
// first, then that in number; and behind that what has shrunk, the most last.
func Grown(before, after []Use) (all []Use) {
	by := uses{}
	add := func(u Use, sign int64) {
		d := by.like(&u)
		d.Count += sign * u.Count
		d.Bytes += sign * u.Bytes
		if sign < 0 {
			d.Before += u.Count
		} else {
			d.After += u.Count
		}
	}
	for _, u := range before {
		add(u, -1)
	}
	for _, u := range after {
		add(u, 1)
	}
	all = slices.DeleteFunc(by.all, func(u Use) bool { return u.Count == 0 && u.Bytes == 0 })
	slices.SortStableFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count))
	})
	return all
}

// ByCount sorts a difference by number first.
func ByCount(all []Use) {
	slices.SortStableFunc(all, func(a, b Use) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Bytes, a.Bytes))
	})
}

// Leaks writes a difference: the sums by kind, then the stacks that have grown, and with
// shrunk those that have shrunk too.
func Leaks(w io.Writer, all []Use, shrunk bool, o Options) error {
	p := &printer{w: w, o: o}
	var kinds uses
	for _, u := range all {
		if o.Wants(u.Kind) {
			sum := kinds.like(&Use{Kind: u.Kind})
			sum.Count += u.Count
			sum.Bytes += u.Bytes
		}
	}
	if len(kinds.all) == 0 {
		p.line("nothing has grown or shrunk")
		return p.err
	}
	p.line("%-16s %10s %12s", "kind", "number", "size")
	for _, k := range kinds.all {
		p.line("%-16s %+*d %12s", k.Kind, max(1, 10-max(0, len(k.Kind)-16)), k.Count, growth(&k))
	}
	told, left := map[string]int{}, 0
	for _, u := range all {
		if !o.Wants(u.Kind) || !u.Grown() && !shrunk {
			continue
		}
		if told[u.Kind]++; o.Stacks > 0 && told[u.Kind] > o.Stacks {
			left++
			continue
		}
		p.line("")
		name := u.Kind
		if u.Count != 1 && u.Count != -1 {
			name = plural(name)
		}
		head := fmt.Sprintf("%+d %s (%d, now %d)", u.Count, name, u.Before, u.After)
		if g := growth(&u); g != "" {
			head += ", " + g
		}
		p.line("%s", head)
		p.frames(u.Frames, u.Whole)
	}
	if left > 0 {
		p.line("")
		p.line("%d more stacks; -n 0 shows all", left)
	}
	if len(told) == 0 {
		p.line("")
		p.line("no stack has more open than before")
	}
	return p.err
}

// LeaksJSON writes a difference as a JSON object a stack.
func LeaksJSON(w io.Writer, all []Use, o Options) error {
	e := json.NewEncoder(w)
	for _, u := range all {
		if !o.Wants(u.Kind) {
			continue
		}
		err := e.Encode(struct {
			Kind   string      `json:"kind"`
			Number int64       `json:"number"`
			Bytes  int64       `json:"bytes"`
			Before int64       `json:"before"`
			After  int64       `json:"after"`
			Frames []jsonFrame `json:"frames"`
		}{u.Kind, u.Count, u.Bytes, u.Before, u.After, framesJSON(u.Frames)})
		if err != nil {
			return err
		}
	}
	return nil
}

// growth writes the growth in bytes, "" if there is none.
func growth(u *Use) string {
	switch {
	case u.Bytes > 0:
		return "+" + Size(u.Bytes)
	case u.Bytes < 0:
		return Size(u.Bytes)
	}
	return ""
}

package stacks

// The deepest way through a program's calls. Without recursion that is the longest path
// in a graph without cycles. A cycle that notes bound is gone through with a count of
// what is left of each bounded function; a cycle that they do not cut has no bound.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is where the use of a stack begins.
type Entry struct {
	// Func is the function's name.
	Func string
	// Base is how many bytes are on the stack when Func begins, its return address
	// included.
	Base uint64
	// At is how far below the stack's top, in bytes, the entry begins.
	At uint64
	// Fresh: Func begins elsewhere; the stack begins where it loads SP.
	Fresh bool
	// Runs, if not "", is the function that Func is given to call.
	Runs string
	// Optional is set if the file may be without that function.
	Optional bool
	// Never are functions that are not reached from this entry.
	Never []string
}

// Step is a function on the deepest way.
type Step struct {
	Func string `json:"func"`
	// Bytes are those that it has on the stack, from its return address on to the
	// next function's.
	Bytes int64 `json:"bytes"`
}

// Bound is the worst case below an entry.
type Bound struct {
	// Bytes of stack, from its top on; 0 if there is no bound.
	Bytes uint64
	// Why there is none, in the order in which it was found; empty if there is one.
	Why []string
	// Chain is the deepest way, the entry first.
	Chain []Step
}

// Bound returns the worst case below an entry. Host.
func (p *Program) Bound(e Entry) Bound {
	w := p.walk(&e)
	if w == nil {
		return Bound{Why: []string{"there is no function " + e.Func}}
	}
	var why []string
	for _, i := range w.reach() {
		for _, s := range w.reached[i].wrong {
			if !slices.Contains(why, s) {
				why = append(why, s)
			}
		}
	}
	why = append(why, w.recursions()...)
	if len(why) > 0 {
		return Bound{Why: why}
	}
	b := Bound{Bytes: uint64(w.cost(root, nil).bytes) + e.Base + e.At}
	w.chain(&b)
	return b
}

// walk returns the search for an entry's bound, nil if there is no such function.
func (p *Program) walk(e *Entry) *walk {
	first, ok := p.index(e.Func)
	if !ok {
		return nil
	}
	w := &walk{p: p, first: first, e: e, never: map[int]bool{}, reached: map[int]*function{}}
	for _, name := range slices.AppendSeq(slices.Clone(e.Never), maps.Keys(p.notes.sets["never"])) {
		for _, i := range p.names[name] {
			w.never[i] = true
		}
	}
	return w
}

// root stands for the entry's function as it is entered: the same function may be
// called somewhere else too.
const root = -1

// walk is the search for one entry's bound.
type walk struct {
	p       *Program
	first   int // index of the entry's function
	e       *Entry
	never   map[int]bool
	reached map[int]*function
	cycle   map[int]int // number of the cycle of a function, from 1
	memo    map[string]cost
}

// cost is the most that a function takes, and by which of its sites (-1: by none).
type cost struct {
	bytes int64
	site  int
	left  counts // of the bounded functions, behind the site
}

// counts are how many more calls of the bounded functions of a cycle there may be.
type counts map[int]int

// sites returns the calls of a function that this entry leads to.
func (w *walk) sites(i int) []site { return w.reached[i].sites }

// reach finds all functions that the entry leads to, in the order in which they are
// found.
func (w *walk) reach() []int {
	order := []int{root}
	enter := func(id int, f *function) {
		g := *f
		g.sites = slices.DeleteFunc(slices.Clone(f.sites), func(s site) bool { return w.never[s.to] })
		w.reached[id] = &g
	}
	enter(root, w.p.function(w.first, w.e.Fresh, w.e.Runs))
	for n := 0; n < len(order); n++ {
		for _, s := range w.sites(order[n]) {
			if w.reached[s.to] == nil {
				enter(s.to, w.p.function(s.to, false, ""))
				order = append(order, s.to)
			}
		}
	}
	return order
}

// recursions numbers the cycles, and returns those that no note bounds.
func (w *walk) recursions() (why []string) {
	w.cycle, w.memo = map[int]int{}, map[string]cost{}
	for n, c := range w.components(slices.Sorted(maps.Keys(w.reached))) {
		free := c[:0:0]
		for _, i := range c {
			w.cycle[i] = n + 1
			if w.p.notes.depth[w.reached[i].name] == 0 {
				free = append(free, i)
			}
		}
		for _, left := range w.components(free) {
			why = append(why, "recursion: "+w.describe(left))
		}
	}
	return why
}

// describe returns a cycle in a component, as names.
func (w *walk) describe(c []int) string {
	in := map[int]bool{}
	for _, i := range c {
		in[i] = true
	}
	var path []int
	for at := c[0]; ; {
		if k := slices.Index(path, at); k >= 0 {
			path = append(path[k:], at)
			break
		}
		path = append(path, at)
		for _, s := range w.sites(at) {
			if in[s.to] {
				at = s.to
				break
			}
		}
	}
	names := make([]string, len(path))
	for k, i := range path {
		names[k] = w.reached[i].name
	}
	return strings.Join(names, " -> ")
}

// components returns the strongly connected components of these functions that have a
// cycle (Tarjan 1972), without recursion of its own, since hostile code may be deep.
func (w *walk) components(nodes []int) (list [][]int) {
	in := make(map[int]bool, len(nodes))
	for _, i := range nodes {
		in[i] = true
	}
	type visit struct{ node, edge int }
	order, low, on := map[int]int{}, map[int]int{}, map[int]bool{}
	var stack []int
	var path []visit
	enter := func(n int) {
		order[n] = len(order) + 1
		low[n], on[n] = order[n], true
		stack = append(stack, n)
		path = append(path, visit{node: n})
	}
	for _, root := range nodes {
		if order[root] == 0 {
			enter(root)
		}
		for len(path) > 0 {
			v := &path[len(path)-1]
			n := v.node
			if sites := w.sites(n); v.edge < len(sites) {
				to := sites[v.edge].to
				v.edge++
				switch {
				case !in[to]:
				case order[to] == 0:
					enter(to)
				case on[to]:
					low[n] = min(low[n], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].node
				low[up] = min(low[up], low[n])
			}
			if low[n] != order[n] {
				continue
			}
			k := len(stack) - 1
			for stack[k] != n {
				k--
			}
			c := slices.Clone(stack[k:])
			stack = stack[:k]
			for _, i := range c {
				on[i] = false
			}
			self := slices.ContainsFunc(w.sites(n), func(s site) bool { return s.to == n })
			if len(c) > 1 || self {
				list = append(list, c)
			}
		}
	}
	return list
}

// cost returns the most that the function takes below its return address. left is nil
// outside of a cycle.
func (w *walk) cost(i int, left counts) cost {
	key := fmt.Sprint(i, left)
	if c, ok := w.memo[key]; ok {
		return c
	}
	f := w.reached[i]
	best := cost{bytes: f.own, site: -1}
	for k := range f.sites {
		s := &f.sites[k]
		next, ok := w.enter(i, s.to, left)
		if !ok {
			continue
		}
		if c := w.cost(s.to, next).bytes + s.take; c > best.bytes {
			best = cost{bytes: c, site: k, left: next}
		}
	}
	w.memo[key] = best
	return best
}

// enter returns what is left of the bounded functions when from calls to. It reports
// false when to has been called as often as it can be.
func (w *walk) enter(from, to int, left counts) (next counts, ok bool) {
	c := w.cycle[to]
	if c == 0 {
		return nil, true
	}
	if w.cycle[from] != c || left == nil {
		left = counts{}
	}
	limit := w.p.notes.depth[w.reached[to].name]
	if limit == 0 {
		return left, true
	}
	used := left[to]
	if to == w.first {
		used++ // the entry itself
	}
	if used >= limit {
		return nil, false
	}
	next = maps.Clone(left)
	next[to]++
	return next, true
}

// chain fills in the deepest way.
func (w *walk) chain(b *Bound) {
	extra := int64(w.e.Base + w.e.At)
	i, left := root, counts(nil)
	for {
		c := w.cost(i, left)
		f := w.reached[i]
		step := Step{Func: f.name, Bytes: extra + c.bytes}
		if c.site < 0 {
			b.Chain = append(b.Chain, step)
			return
		}
		s := f.sites[c.site]
		step.Bytes = extra + s.take
		// The return address counts for the function that it returns from.
		extra = 0
		b.Chain = append(b.Chain, step)
		i, left = s.to, c.left
	}
}

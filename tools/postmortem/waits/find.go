package waits

import (
	"fmt"
	"slices"
	"strings"
)

// What is named, and what is not. A goroutine can run if it waits for nothing, or for what comes
// from outside, or for a lock whose holder can run. As long as one can, a channel, a group or a
// condition may be served by it, by ways that no stack shows: then those alone are named who wait
// in a ring of locks, or for a lock that one of the ring has. When none can, all who wait are
// stuck, and those are named for whom the others wait: who wait for none, or in a ring. Of one that
// waits for a timer, or runs a finalizer, that is no fault: it is named only if it has a lock.

// A Finding is what keeps the program from going on.
type Finding struct {
	// Text is one sentence: deadlock, stuck or hang, a colon, and who waits for what.
	Text string `json:"finding"`
	// Goroutines are the ones to blame: a ring in its order, or a single one.
	Goroutines []int64 `json:"goroutines"`
}

// live finds which goroutines can run.
func (g *Graph) live() (live map[*Goroutine]bool, any bool) {
	live, any = make(map[*Goroutine]bool), g.alarms
	for _, x := range g.Goroutines {
		if x.runs(g.hang) {
			live[x] = true
			any = any || !x.System && !x.idleSignal()
		}
	}
	for changed := true; changed; {
		changed = false
		for _, x := range g.Goroutines {
			if !live[x] && x.Wait != nil && g.mayEnd(x, live, any) {
				live[x], changed = true, true
				any = any || !x.System
			}
		}
	}
	return live, any
}

func (x *Goroutine) idleSignal() bool { return x.idle && x.status == gSyscall }

// runs reports whether a goroutine goes on without another one.
func (x *Goroutine) runs(hang bool) bool {
	w := x.Wait
	if x.System {
		return false
	}
	if w == nil {
		return true
	}
	switch w.Kind {
	case Poll, Sleep, Syscall:
		return !hang && !x.idleSignal()
	case Semaphore:
		// The runtime's, such as that for whom collects garbage, or a file's: who has it is on no
		// list, and may be one of the runtime's own.
		return !hang
	case Other, Kernel:
		return true
	}
	for _, o := range w.Objects {
		if o.free || o.timer && !hang || o.outside {
			return true
		}
	}
	return false
}

// mayEnd reports whether what x waits for may come while those that are live run.
func (g *Graph) mayEnd(x *Goroutine, live map[*Goroutine]bool, any bool) bool {
	switch x.Wait.Kind {
	case NilChan, Nothing:
		return false
	case Mutex, RLock, WLock, Once:
		o := x.Wait.Objects[0]
		if !o.Certain || len(o.Holders) == 0 {
			return any
		}
		for _, id := range o.Holders {
			if !live[g.byID[id]] {
				return false
			}
		}
		return true
	}
	return any
}

// find fills in the findings.
func (g *Graph) find() {
	live, any := g.live()
	var stuck []*Goroutine
	for _, x := range g.Goroutines {
		if !live[x] && !x.System && !x.idleSignal() {
			stuck = append(stuck, x)
		}
	}
	next := make(map[*Goroutine][]edge)
	for _, x := range stuck {
		for _, e := range g.edges(x) {
			if (e.strong || !any && !e.to.timed()) && !live[e.to] {
				next[x] = append(next[x], e)
			}
		}
	}
	var later []Finding // said only if there is nothing better
	for _, ring := range rings(stuck, next) {
		x := ring[0]
		switch {
		case len(ring) > 1 || slices.ContainsFunc(next[x], func(e edge) bool { return e.to == x }):
			g.Findings = append(g.Findings, g.ring(ring, next))
		case any && x.Wait.Kind != NilChan:
		case !any && x.timed() && !g.wanted(x, stuck, next):
		case !any && (x.idle || x.clears || x.Wait.Kind == Nothing || g.outside(x)) &&
			!g.wanted(x, stuck, next):
			later = append(later, g.single(x, stuck, next, any))
		default:
			g.Findings = append(g.Findings, g.single(x, stuck, next, any))
		}
	}
	if len(g.Findings) == 0 && !any {
		g.Findings = later
	}
}

func (g *Graph) outside(x *Goroutine) bool {
	return x.Wait.Kind == Poll || x.Wait.Kind == Syscall || x.Wait.Kind == Sleep
}

// timed reports whether a goroutine waits for a timer, and perhaps for something else.
func (x *Goroutine) timed() bool {
	return x.Wait != nil &&
		slices.ContainsFunc(x.Wait.Objects, func(o *Object) bool { return o.timer })
}

func (g *Graph) wanted(x *Goroutine, stuck []*Goroutine, next map[*Goroutine][]edge) bool {
	return slices.ContainsFunc(stuck, func(y *Goroutine) bool {
		return slices.ContainsFunc(next[y], func(e edge) bool { return e.to == x })
	})
}

// rings returns the sets of goroutines from which no edge leads out: in each, every one leads to
// every other. It is Tarjan's algorithm.
func rings(all []*Goroutine, next map[*Goroutine][]edge) (list [][]*Goroutine) {
	// low is the number of the first goroutine of its set that is known, done that of one whose set
	// is.
	const done = 1 << 62
	low := make(map[*Goroutine]int)
	var stack []*Goroutine
	var visit func(x *Goroutine) (leaves bool)
	visit = func(x *Goroutine) (leaves bool) {
		index := len(low) + 1
		at := len(stack)
		low[x], stack = index, append(stack, x)
		for _, e := range next[x] {
			if low[e.to] == 0 {
				leaves = visit(e.to) || leaves
			}
			leaves = leaves || low[e.to] == done
			low[x] = min(low[x], low[e.to])
		}
		if low[x] < index {
			return leaves
		}
		set := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, y := range set {
			low[y] = done
		}
		if !leaves {
			list = append(list, byNumber(set))
		}
		return true
	}
	for _, x := range all {
		if low[x] == 0 {
			visit(x)
		}
	}
	slices.SortFunc(list, func(a, b []*Goroutine) int { return int(a[0].ID - b[0].ID) })
	return list
}

// byNumber sorts goroutines.
func byNumber(all []*Goroutine) []*Goroutine {
	slices.SortFunc(all, func(a, b *Goroutine) int { return int(a.ID - b.ID) })
	return all
}

// ring words a set of which each waits for another: along the shortest ring through the first.
func (g *Graph) ring(set []*Goroutine, next map[*Goroutine][]edge) Finding {
	path := shortest(set[0], next)
	x := set[0]
	text := "deadlock: " + x.label() + " " + x.Wait.words(path[0].object)
	ids := []int64{x.ID}
	for i, e := range path {
		text += ", " + e.words + " "
		switch {
		case e.to == x && i == 0:
			text += "itself"
		case e.to == x:
			text += fmt.Sprintf("goroutine %d", x.ID)
		default:
			text += e.to.label()
		}
		if e.at != "" {
			text += " at " + e.at
		}
		if e.to != x {
			text += ", which " + e.to.Wait.words(path[i+1].object)
			ids = append(ids, e.to.ID)
		}
	}
	if more := len(set) - len(ids); more > 0 {
		text += "; " + othersWait(more) + " in the same ring"
	}
	return Finding{text, ids}
}

// shortest returns the edges of the shortest way from x back to x.
func shortest(x *Goroutine, next map[*Goroutine][]edge) (path []edge) {
	type step struct {
		from *Goroutine
		edge edge
	}
	by := make(map[*Goroutine]step)
	for queue := []*Goroutine{x}; len(queue) > 0 && path == nil; queue = queue[1:] {
		for _, e := range next[queue[0]] {
			if _, ok := by[e.to]; !ok {
				by[e.to] = step{queue[0], e}
				queue = append(queue, e.to)
			}
		}
		for y := x; by[x].from != nil && (path == nil || y != x); y = by[y].from {
			path = append(path, by[y].edge)
		}
	}
	slices.Reverse(path)
	return path
}

// single words one who waits for none of the others.
func (g *Graph) single(x *Goroutine, stuck []*Goroutine, next map[*Goroutine][]edge,
	any bool) Finding {
	kind := "deadlock: "
	switch {
	case g.hang:
		kind = "hang: "
	case any:
		kind = "stuck: "
	}
	text := kind + x.label() + " " + x.Wait.words(nil)
	all := g.edges(x)
	if i := slices.IndexFunc(all, func(e edge) bool { return !any && e.to.timed() }); i >= 0 {
		text += fmt.Sprintf(", %s %s, which %s",
			all[i].words, all[i].to.label(), all[i].to.Wait.words(nil))
	} else if end := g.whoElse(x); end != "" && !g.outside(x) && !x.timed() {
		text += "; " + end
	}
	var direct []string
	reach := 0
	for _, y := range stuck {
		i := slices.IndexFunc(next[y], func(e edge) bool { return e.to == x })
		if y == x || i < 0 {
			continue
		}
		if reach++; reach <= 3 {
			e := next[y][i]
			direct = append(direct, fmt.Sprintf("%s %s, %s it", y.label(), y.Wait.words(e.object), e.words))
		}
	}
	if len(direct) > 0 {
		text += "; " + strings.Join(direct, "; ")
		if reach > len(direct) {
			text += "; " + othersWait(reach-len(direct)) + " for it too"
		}
	}
	return Finding{text, []int64{x.ID}}
}

package fault

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// Goroutines with the same stack and the same state form one group, and the one that waits longest
// stands for it. A server has thousands of goroutines but only a dozen groups.

// maxGroups bounds the groups that are told apart, and namedMembers how many members of a group are
// listed by number.
const (
	maxGroups    = 100
	namedMembers = 8
)

// A Group is a set of goroutines that stopped at the same place with the same stack.
type Group struct {
	N int // how many
	// When the first of them began to wait, in ns of the clock; 0 if the runtime did not note it.
	Since int64

	at      int // index of that goroutine in the runtime's list
	running bool
	key     uint64 // of its stack and state
	ids     [namedMembers]uint64
	places  [namedMembers]int // indexes in the runtime's list
}

// groups holds the groups that GroupGoroutines found. Under the kernel lock; the panic path takes
// none.
var groups [maxGroups]Group

// grouped is the goroutine that is being examined. Under the kernel lock; the panic path takes
// none.
var grouped Details

// GroupGoroutines sorts the living goroutines into groups, the longest waiting first. It leaves out
// number skip, and the runtime's own goroutines unless all is set. A goroutine that runs is a group
// of its own before the others; without running, it is left out if a CPU is at its code. left is
// the number of goroutines that did not fit, hidden the number of the runtime's own. The result is
// valid until the next call. Kernel context.
func GroupGoroutines(skip uint64, all, running bool) (found []Group, left, hidden uint64) {
	n := 0
	for i := 0; i < goinfo.NumG(); i++ {
		g, ok := goinfo.GAt(i)
		if !ok || g.Dead() || !running && hasCPU(&g) || g.ID == skip {
			continue
		}
		if !all && SystemGoroutine(&g) {
			hidden++
			continue
		}
		key := keyOf(&g)
		k := 0
		for k < n && (groups[k].key != key || g.Running()) {
			k++
		}
		if k == maxGroups {
			left++
			continue
		}
		if k == n {
			groups[k] = Group{key: key, at: i, running: g.Running(), Since: since(&g)}
			n++
		}
		groups[k].add(&g, i)
	}
	for i := 1; i < n; i++ {
		for k := i; k > 0 && groups[k].before(&groups[k-1]); k-- {
			groups[k], groups[k-1] = groups[k-1], groups[k]
		}
	}
	return groups[:n], left, hidden
}

// keyOf returns a number that is equal for goroutines that wait alike.
func keyOf(g *goinfo.G) uint64 {
	const prime = 1099511628211 // FNV-1a, 64 bits
	key := uint64(14695981039346656037)
	if g.Running() {
		return key ^ g.ID // its stack belongs to its thread
	}
	state := g.State()
	for i := 0; i < len(state); i++ {
		key = (key ^ uint64(state[i])) * prime
	}
	grouped = Details{}
	if !grouped.FromGoroutine(g) {
		return key
	}
	grouped.FindStacks()
	stack.Walker.Plain = false
	walkEnds(&grouped)
	w := &stack.Walker
	for i := 0; i < w.N; i++ {
		f := &w.Frames[i]
		key = (key ^ uint64(f.Addr)) * prime
		key = (key ^ uint64(f.Kind) ^ uint64(f.Repeat)<<8) * prime
	}
	return (key ^ uint64(w.LeftOut)) * prime
}

// since returns when a goroutine began to wait, or 0 if it does not wait or the time is not known.
func since(g *goinfo.G) int64 {
	if !g.Waiting() {
		return 0
	}
	return g.WaitSince
}

// add adds goroutine i of the runtime's list to the group.
func (p *Group) add(g *goinfo.G, i int) {
	if p.N < namedMembers {
		p.ids[p.N], p.places[p.N] = g.ID, i
	}
	p.N++
	if s := since(g); s != 0 && (p.Since == 0 || s < p.Since) {
		p.Since, p.at = s, i
	}
}

// before reports whether a group is listed before o.
func (p *Group) before(o *Group) bool {
	if p.running != o.running {
		return p.running
	}
	return p.Since != 0 && (o.Since == 0 || p.Since < o.Since)
}

// First returns the goroutine that stands for the group.
func (p *Group) First() (g goinfo.G, ok bool) { return goinfo.GAt(p.at) }

// Waited returns how long the first of the group has waited, in seconds; ok is false if that is not
// known.
func (p *Group) Waited() (s uint64, ok bool) {
	now := clock.Now()
	if p.Since <= 0 || uint64(p.Since) >= now {
		return 0, false
	}
	return (now - uint64(p.Since)) / 1e9, true
}

// Members returns the numbers of the group's goroutines, in the order of their creation; more says
// that there are others.
func (p *Group) Members() (ids []uint64, more bool) {
	return p.ids[:min(p.N, namedMembers)], p.N > namedMembers
}

// describe says who is in the group and what it does; for a single goroutine it uses the words of
// Go's own traceback.
func (p *Group) describe(r *text, g *goinfo.G) {
	if p.N > 1 {
		r.Dec(uint64(p.N))
		r.Str(" goroutines")
	} else {
		r.Str("goroutine ")
		r.Dec(g.ID)
	}
	r.Str(" [")
	r.Str(g.State())
	if s, ok := p.Waited(); ok {
		r.Str(", ")
		r.Dec(s)
		r.Str(" s")
	}
	r.byte(']')
	if p.N == 1 {
		return
	}
	ids, more := p.Members()
	for i, id := range ids {
		if i == 0 {
			r.Str(": ")
		} else {
			r.Str(", ")
		}
		r.Dec(id)
	}
	if more {
		r.Str(", ...")
	}
}

// trace writes a trace of the goroutine that stands for the group.
func (p *Group) trace() {
	if g, ok := p.First(); ok {
		traced = *p
		traceGoroutine(&g, p)
		traced.N = 0
	}
}

// TraceGoroutine writes a trace of a goroutine that no CPU is at. After a fatal trace it does so on
// that trace's stage, and then puts the crash back there, because the monitor asks about it.
func TraceGoroutine(g *goinfo.G) {
	one := Group{N: 1, Since: since(g)}
	traceGoroutine(g, &one)
}

func traceGoroutine(g *goinfo.G, of *Group) {
	fatal := stage() != noStage
	d := &stageDetails[0]
	if fatal {
		fatalDetails = *d
		d.begin(tracer.KindTrace)
	} else {
		NextStage(tracer.KindTrace)
	}
	if d.fromLeft(g) {
		of.describe(&d.Reason, g)
		WriteTrace()
	}
	if fatal {
		*d = fatalDetails
	} else {
		LeaveStages()
	}
}

// fatalDetails is the crash that goroutines are traced after. Panic path only.
var fatalDetails Details

package locks

import (
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// A call of a function that takes a lock and returns with it, or gives back one that it has not
// taken, does so for its caller. What a function does is known once it has been gone through; the
// addresses are expressions over what it was called with.

// maxCalls bounds how deep calls are followed in search of locks.
const maxCalls = 4

// summarize does to s what a call of the function at to does to locks, whose CFA is at a distance
// from this one's.
func (f *function) summarize(s *flow.State, in *flow.Inst, to uint64, cfa int64) {
	if !f.p.comesToLock(to, maxCalls) {
		return
	}
	k, now := at(in.PC), of(s)
	g := f.p.variant(to, f.inside(k))
	if g == nil && !Standard(f.p.Name(to)) {
		now.calls[""] = 0
		if _, ok := f.targets[k]; ok {
			now.doubt(nil)
		}
	}
	if g == nil || g == f || g.atReturn == nil || primitive(g.Name) {
		return
	}
	t := translator{f, s, g, cfa}
	t.calls(k)
	for _, ops := range g.ops {
		for _, o := range ops {
			f.ops[in.PC] = append(f.ops[in.PC], Operation{o.What, o.At, t.value(o.addr, 0)})
		}
	}
	held, freed := g.leaves()
	for _, h := range freed {
		addr := t.value(h.addr, 0)
		if addr == 0 { // it gives back something, which may be any
			now.doubt(func(have hold) bool { return have.mode == h.mode })
		}
		now.give(h.mode, addr, true)
	}
	for h, must := range of(g.atReturn).freed {
		if addr := t.value(h.addr, 0); !must && addr != 0 {
			now.doubt(func(have hold) bool { return have.mode == h.mode && have.addr == addr })
		}
	}
	for _, h := range held {
		now.take(hold{h.mode, t.value(h.addr, 0), in.PC}, true)
	}
}

// leaves returns what the function takes for its caller, and what it gives back for it, on each of
// its ways. What it does on some of them alone is not followed: most of that comes of two tests of
// the same thing, the second of which decides whether what was locked after the first is unlocked.
func (f *function) leaves() (held, freed []hold) {
	sure := func(m map[hold]bool) (all []hold) {
		for h, must := range m {
			if must {
				all = append(all, h)
			}
		}
		return all
	}
	held, freed = sure(of(f.atReturn).held), sure(of(f.atReturn).freed)
	// One that is taken by one pointer and given back by another is the same, unless the code alone
	// says where both point.
	held = slices.DeleteFunc(held, func(h hold) bool {
		j := slices.IndexFunc(freed, func(y hold) bool {
			return h.mode == y.mode &&
				!(f.Fixed(h.addr) && f.Fixed(y.addr))
		})
		if j >= 0 {
			freed = slices.Delete(freed, j, j+1)
		}
		return j >= 0
	})
	return held, freed
}

// translator turns the values of a function into those of its caller at the call.
type translator struct {
	f    *function
	s    *flow.State
	from *function
	cfa  int64 // of the callee, from the caller's
}

// calls notes at k what the callee has called that the code does not name.
func (t *translator) calls(k path) {
	if Standard(t.from.Name) && !strings.HasSuffix(t.from.Name, "-fm") {
		return
	}
	note := func(to, have map[path]value) {
		for inner, v := range have {
			if v = t.value(v, 0); v == 0 || len(k+inner) > 8*maxCalls {
				to[""] = 0
			} else {
				to[k+inner] = v
			}
		}
	}
	note(of(t.s).calls, of(t.from.atReturn).calls)
	note(t.f.calls, t.from.calls)
}

// inside returns the targets of the function that is called at k; nil if none was asked.
func (f *function) inside(k path) map[path]uint64 {
	if f.targets == nil {
		return nil
	}
	m := make(map[path]uint64)
	for inner, to := range f.targets {
		if rest, ok := strings.CutPrefix(string(inner), string(k)); ok && rest != "" {
			m[path(rest)] = to
		}
	}
	return m
}

func (t *translator) value(v value, depth int) value {
	if depth > maxDepth {
		return 0
	}
	x := t.from.Node(v)
	switch x.Kind {
	case flow.Const:
		return t.f.Const(x.N)
	case flow.Frame:
		return t.f.Frame(t.cfa + x.N)
	case flow.Entry:
		return t.s.Reg(int(x.N))
	case flow.Add:
		return t.f.Add(t.value(x.A, depth+1), x.N)
	case flow.Indexed:
		return t.f.Indexed(t.value(x.A, depth+1), t.value(x.B, depth+1), x.N)
	case flow.Mem:
		return t.f.Load(t.s, t.value(x.A, depth+1))
	}
	return 0
}

// Standard reports whether a function or variable is of the standard library: the first element of
// its package's path has no dot, and is not main. Context: host.
func Standard(name string) bool {
	pkg, _, _ := strings.Cut(name, "/")
	if pkg == name {
		pkg, _, _ = strings.Cut(name, ".")
		return pkg != "main" && !strings.HasPrefix(pkg, "command-line-arguments")
	}
	return !strings.Contains(pkg, ".")
}

// comesToLock reports whether a function has the code of a lock in it, or may call one that has,
// depth calls deep.
func (p *Program) comesToLock(pc uint64, depth int) bool {
	if k, ok := p.reaches[pc]; ok && (k.yes || k.depth >= depth) {
		return k.yes
	}
	p.reaches[pc] = reach{false, depth} // for one that calls itself
	yes := p.seeLock(pc, depth)
	p.reaches[pc] = reach{yes, depth}
	return yes
}

// reach is what has been seen of the calls of a function.
type reach struct {
	yes   bool
	depth int // this deep
}

func (p *Program) seeLock(pc uint64, depth int) bool {
	name := p.Name(pc)
	switch {
	case operations[name].what != "":
		return true
	case name == "" || lookup.OfRuntime(lookup.Package(name)):
		return false
	case primitive(name):
		return true
	case depth == 0:
		return false
	}
	f := p.read(pc)
	return f != nil && slices.ContainsFunc(f.Insts, func(in flow.Inst) bool {
		to, direct := in.Target()
		switch {
		case direct && (in.Op == x86asm.CALL || in.Op == x86asm.JMP && !f.Holds(to)):
			return p.comesToLock(to, depth-1)
		case !direct && in.Op == x86asm.CALL && !Standard(name):
			return true // it may come to one
		}
		// The function of a closure, as a defer statement makes one.
		to, ok := in.Pointer()
		return ok && p.Name(to) != "" && p.comesToLock(to, depth-1)
	})
}

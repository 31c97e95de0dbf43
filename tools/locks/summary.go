package locks

import (
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// A call of a function that takes a lock and returns with it, or gives back one that it has not
// taken, does so for its caller. What a function does is known once it has been gone through; the
// addresses are expressions over what it was called with.

// maxCalls bounds how deep calls are followed in search of locks.
const maxCalls = 4

// summarize does to s what a call of the function at to, at whose entry SP is sp, does to locks.
func (p *Program) summarize(f *function, s *state, in *inst, to uint64, sp value) {
	if !p.comesToLock(to, maxCalls) {
		return
	}
	k := at(in.pc)
	g := p.variant(to, f.inside(k))
	if g == nil && !Standard(p.name(to)) {
		s.calls[""] = 0
		if _, ok := f.targets[k]; ok {
			s.doubt()
		}
	}
	if g == nil || g == f || g.atReturn == nil || primitive(g.name) {
		return
	}
	t := translator{p, f, s, g, sp}
	t.calls(k)
	for _, ops := range g.ops {
		for _, o := range ops {
			f.ops[in.pc] = append(f.ops[in.pc], op{o.what, t.value(o.addr, 0), o.at})
		}
	}
	held, freed := g.leaves()
	for _, h := range freed {
		addr := t.value(h.addr, 0)
		if addr == 0 {
			// It gives back something, which may be any.
			for have := range s.held {
				if have.mode == h.mode {
					s.held[have] = false
				}
			}
		}
		s.give(h.mode, addr, true)
	}
	for h, must := range g.atReturn.freed {
		if must {
			continue
		}
		addr := t.value(h.addr, 0)
		for have := range s.held {
			if have.mode == h.mode && have.addr == addr && addr != 0 {
				s.held[have] = false
			}
		}
	}
	for _, h := range held {
		s.take(hold{h.mode, t.value(h.addr, 0), in.pc}, true)
	}
}

// leaves returns what the function takes for its caller, and what it gives back for it, on each of
// its ways. What it does on some of them alone is not followed: most of that comes of two tests
// of the same thing, the second of which decides whether what was locked after the first is unlocked.
func (f *function) leaves() (held, freed []hold) {
	for h, must := range f.atReturn.held {
		if must {
			held = append(held, h)
		}
	}
	for h, must := range f.atReturn.freed {
		if must {
			freed = append(freed, h)
		}
	}
	// One that is taken by one pointer and given back by another is the same, unless the code alone
	// says where both point.
	for i := 0; i < len(held); i++ {
		for j, y := range freed {
			if held[i].mode == y.mode && !(f.fixed(held[i].addr) && f.fixed(y.addr)) {
				held, freed = slices.Delete(held, i, i+1), slices.Delete(freed, j, j+1)
				i--
				break
			}
		}
	}
	return held, freed
}

// translator turns the values of a function into those of its caller at the call.
type translator struct {
	p    *Program
	f    *function
	s    *state
	from *function
	sp   value // where SP stands at the callee's entry
}

// calls notes at k what the callee has called that the code does not name.
func (t *translator) calls(k path) {
	if Standard(t.from.name) && !strings.HasSuffix(t.from.name, "-fm") {
		return
	}
	for of, have := range map[*map[path]value]map[path]value{&t.s.calls: t.from.atReturn.calls, &t.f.calls: t.from.calls} {
		for inner, v := range have {
			if v = t.value(v, 0); v == 0 || len(k+inner) > 8*maxCalls {
				(*of)[""] = 0
			} else {
				(*of)[k+inner] = v
			}
		}
	}
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

// fixed reports whether an expression has no part that the code does not say.
func (f *function) fixed(v value) bool {
	x := f.nodes[v]
	switch x.kind {
	case unknown, def, phi:
		return false
	case add, mem:
		return f.fixed(x.a)
	case indexed:
		return f.fixed(x.a) && f.fixed(x.b)
	}
	return true
}

func (t *translator) value(v value, depth int) value {
	if depth > maxDepth {
		return 0
	}
	x := t.from.nodes[v]
	switch x.kind {
	case konst:
		return t.f.konst(x.n)
	case frame:
		return t.f.add(t.sp, x.n)
	case entry:
		return t.s.regs[x.n]
	case add:
		return t.f.add(t.value(x.a, depth+1), x.n)
	case indexed:
		return t.f.indexed(t.value(x.a, depth+1), t.value(x.b, depth+1), x.n)
	case mem:
		return t.p.load(t.f, t.s, t.value(x.a, depth+1))
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
	name := p.name(pc)
	switch {
	case operations[name].what != "":
		return true
	case name == "" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/"):
		return false
	case primitive(name):
		return true
	case depth == 0:
		return false
	}
	f := p.read(pc)
	if f == nil {
		return false
	}
	for i := range f.insts {
		in := &f.insts[i]
		to, direct := in.target()
		switch {
		case direct && (in.Op == x86asm.CALL || in.Op == x86asm.JMP && !f.holds(to)) && p.comesToLock(to, depth-1):
			return true
		case !direct && in.Op == x86asm.CALL && !Standard(name):
			return true // it may come to one
		}
		// The function of a closure, as a defer statement makes one.
		if m, ok := in.Args[1].(x86asm.Mem); ok && in.Op == x86asm.LEA && m.Base == x86asm.RIP {
			if to := uint64(int64(in.next) + m.Disp); p.name(to) != "" && p.comesToLock(to, depth-1) {
				return true
			}
		}
	}
	return false
}

package argument

// In which registers or where on the stack a function gets its parameters. DWARF says that of those
// alone that the function uses. The pc tables describe the place that each word has above the CFA,
// and so tell whether DWARF names all of the parameters: it leaves out those called _.
//
// Source: Go's cmd/compile/abi-internal.md; cmd/compile/internal/ssagen/ssa.go (EmitArgInfo).

import (
	"debug/dwarf"

	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tracer"
)

// A home is where one scalar of a parameter is at the function's entry.
type home struct {
	part
	place int64 // a register of package flow; on the stack: where, from the CFA on
	stack bool
	spill int64 // where the function may put it, from the CFA on
}

// assigner hands out registers and stack words, to the parameters and to the results.
type assigner struct{ ints, floats, stack int64 }

func alignUp(n, to int64) int64 { return (n + to - 1) / max(to, 1) * max(to, 1) }

// assign gives a value of type t a place.
func (a *assigner) assign(t dwarf.Type) (all []home, align int64, inRegisters bool) {
	l := scalars{elements: true}
	align, ok, _ := l.add(t, 0, 0)
	was := *a
	for _, s := range l.all {
		h := home{part: s.part}
		if s.float {
			h.place = flow.X + a.floats
			a.floats++
		} else if a.ints < int64(len(flow.Arguments)) {
			h.place = int64(flow.Arguments[a.ints])
			a.ints++
		} else {
			ok = false
		}
		all = append(all, h)
	}
	if ok && a.floats <= flow.FloatArguments {
		return all, align, true
	}
	a.ints, a.floats = was.ints, was.floats
	a.stack = alignUp(a.stack, align)
	for i := range all {
		all[i].place, all[i].stack = a.stack+all[i].off, true
		all[i].spill = all[i].place
	}
	a.stack += t.Size()
	return all, align, false
}

// homes returns where the function gets each parameter, by their order; nil if that is not certain.
func (im *Image) homes(fn tracer.Func, params, results []parameter) [][]home {
	var in assigner
	type spilled struct {
		homes []home
		align int64
		size  int64
	}
	var all [][]home
	var spills []spilled
	for _, p := range params {
		t, err := im.data.Type(p.typ)
		if err != nil {
			return nil
		}
		h, align, inRegisters := in.assign(t)
		if inRegisters && t.Size() > 0 {
			spills = append(spills, spilled{h, align, t.Size()})
		}
		all = append(all, h)
	}
	out := assigner{stack: alignUp(in.stack, 8)}
	for _, p := range results {
		t, err := im.data.Type(p.typ)
		if err != nil {
			return nil
		}
		out.assign(t)
	}
	at := alignUp(out.stack, 8)
	for _, s := range spills {
		at = alignUp(at, s.align)
		for i := range s.homes {
			s.homes[i].spill = at + s.homes[i].off
		}
		at += s.size
	}
	var want []tracer.ArgWord
	for _, homes := range all {
		for _, h := range homes {
			want = append(want, tracer.ArgWord{Offset: h.spill, Size: h.size})
		}
	}
	var have []tracer.ArgWord
	whole := fn.ArgWords(func(w tracer.ArgWord) { have = append(have, w) })
	if len(have) > len(want) || whole && len(have) != len(want) || !whole &&
		uint64(alignUp(at, 8)) != uint64(fn.ArgsSize()) {
		return nil
	}
	for i, w := range have {
		if w != want[i] {
			return nil
		}
	}
	return all
}

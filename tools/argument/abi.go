package argument

// In which registers or where on the stack a function gets its parameters. DWARF says that of those
// alone that the function uses. The pc tables describe the place that each word has above the CFA,
// and so tell whether DWARF names all of the parameters: it leaves out those called _.
//
// Source: Go's cmd/compile/abi-internal.md; cmd/compile/internal/ssagen/ssa.go (EmitArgInfo).

import (
	"debug/dwarf"

	"github.com/zeroframe/zeroframe/tracer"
)

// A home is where one scalar of a parameter is at the function's entry.
type home struct {
	part
	place int64 // a register of flow.go; on the stack: where, from the CFA on
	stack bool
	spill int64 // where the function may put it, from the CFA on
}

// The registers of the arguments, by x86's numbers: RAX RBX RCX RDI RSI R8 to R11, and X0 to X14.
var intRegisters = [...]int64{0, 3, 1, 7, 6, 8, 9, 10, 11}

const floatRegisters = 15

// assigner hands out registers and stack words, to the parameters and to the results.
type assigner struct{ ints, floats, stack int64 }

func alignUp(n, to int64) int64 { return (n + to - 1) / max(to, 1) * max(to, 1) }

// unit is a part and what the assignment asks of its type.
type unit struct {
	part
	float bool
}

// scalars appends the scalars of a type, and reports whether registers may hold it. size and align
// are in bytes.
func scalars(t dwarf.Type, off int64, depth int, all []unit) (_ []unit, align int64, ok bool) {
	size := t.Size()
	if depth > maxDepth || len(all) > maxParts || size < 0 {
		return all, 1, false
	}
	words := func(n int64) ([]unit, int64, bool) {
		for i := range n {
			all = append(all, unit{part: part{off + i*8, 8}})
		}
		return all, 8, true
	}
	switch t := t.(type) {
	case *dwarf.TypedefType:
		if _, ok := t.Type.(*dwarf.FuncType); ok {
			return words(1)
		}
		return scalars(t.Type, off, depth+1, all)
	case *dwarf.QualType:
		return scalars(t.Type, off, depth+1, all)
	case *dwarf.FuncType:
		return words(1)
	case *dwarf.ComplexType:
		half := size / 2
		return append(all, unit{part{off, half}, true}, unit{part{off + half, half}, true}), half, true
	case *dwarf.FloatType:
		return append(all, unit{part{off, size}, true}), size, true
	case *dwarf.ArrayType:
		_, align, ok := scalars(t.Type, off, depth+1, nil)
		if t.Count == 0 {
			return all, align, true
		}
		for i := range t.Count {
			n := len(all)
			if all, _, _ = scalars(t.Type, off+i*t.Type.Size(), depth+1, all); len(all) > maxParts {
				return all, align, false
			} else if len(all) == n {
				break // nor have the others any
			}
		}
		return all, align, ok && t.Count == 1
	case *dwarf.StructType:
		align, ok = 1, t.Kind == "struct"
		for _, f := range t.Field {
			var a int64
			var fits bool
			all, a, fits = scalars(f.Type, off+f.ByteOffset, depth+1, all)
			align, ok = max(align, a), ok && fits
		}
		return all, align, ok
	}
	return append(all, unit{part: part{off, size}}), max(size, 1), size <= 8
}

// assign gives a value of type t a place.
func (a *assigner) assign(t dwarf.Type) (all []home, align int64, inRegisters bool) {
	list, align, ok := scalars(t, 0, 0, nil)
	was := *a
	for _, s := range list {
		h := home{part: s.part}
		if s.float {
			h.place = regX + a.floats
			a.floats++
		} else if a.ints < int64(len(intRegisters)) {
			h.place = intRegisters[a.ints]
			a.ints++
		} else {
			ok = false
		}
		all = append(all, h)
	}
	if ok && a.floats <= floatRegisters {
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
	if len(have) > len(want) || whole && len(have) != len(want) || !whole && uint64(alignUp(at, 8)) != uint64(fn.ArgsSize()) {
		return nil
	}
	for i, w := range have {
		if w != want[i] {
			return nil
		}
	}
	return all
}

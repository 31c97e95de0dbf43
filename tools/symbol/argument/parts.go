package argument

// Which part of a value each piece of a location is. The compiler keeps a value of several
// parts (a string: pointer and length) as one variable for each. Its location lists have a
// piece for each of these that the function uses at all, and say nothing of the others: of a
// string whose length alone is used, the length's place looks like that of the string, and
// where a field is not used, the pieces behind it have moved up. So pieces are believed only
// if there is one for each part, with the part's size.
//
// Source: Go 1.26, cmd/compile/internal/ssa, debug.go (writePendingEntry) and value.go (CanSSA).

import "debug/dwarf"

// A part is a scalar in a value.
type part struct{ off, size int64 }

// maxParts bounds what is looked at of a type.
const maxParts = 64

// scalars are those of a type. With elements the elements of an array are scalars of their own,
// else an array is one.
type scalars struct {
	all      []unit
	elements bool
}

// A unit is a part, and whether it goes into an XMM register.
type unit struct {
	part
	float bool
}

// add appends the scalars of a type at off. registers reports whether registers may hold it as an
// argument, split whether the compiler may keep each scalar as a variable of its own. off and align
// are in bytes.
func (l *scalars) add(t dwarf.Type, off int64, depth int) (align int64, registers, split bool) {
	size := t.Size()
	if depth > maxDepth || len(l.all) > maxParts || size < 0 {
		return 1, false, false
	}
	one := func(off, size int64, float bool) { l.all = append(l.all, unit{part{off, size}, float}) }
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return l.add(t.Type, off, depth+1)
	case *dwarf.QualType:
		return l.add(t.Type, off, depth+1)
	case *dwarf.FuncType:
		one(off, 8, false)
		return 8, true, true
	case *dwarf.ComplexType:
		one(off, size/2, true)
		one(off+size/2, size/2, true)
		return size / 2, true, true
	case *dwarf.FloatType:
		one(off, size, true)
		return size, true, true
	case *dwarf.ArrayType:
		inner := scalars{elements: l.elements}
		align, registers, split = inner.add(t.Type, 0, depth+1)
		switch {
		case t.Count == 0:
			return align, true, true
		case t.Count != 1 && !l.elements:
			one(off, size, false)
			return align, false, false
		}
		for i := int64(0); i < t.Count && len(inner.all) > 0 && len(l.all) <= maxParts; i++ {
			l.add(t.Type, off+i*t.Type.Size(), depth+1)
		}
		return align, registers && t.Count == 1, split
	case *dwarf.StructType:
		align, registers, split = 1, t.Kind == "struct", size <= 32 && len(t.Field) <= 4
		for _, f := range t.Field {
			a, fits, alone := l.add(f.Type, off+f.ByteOffset, depth+1)
			align, registers, split = max(align, a), registers && fits, split && alone
		}
		return align, registers, split
	}
	one(off, size, false)
	return max(size, 1), size <= 8, true
}

// lay says which part of a value of type t each piece is, by its at. listed is set for those
// of a location list whose entries have no pieces. It reports false if that is not certain.
func lay(t dwarf.Type, all []piece, listed bool) bool {
	var l scalars
	_, _, split := l.add(t, 0, 0)
	of := l.all
	if len(all) == 1 && all[0].size == 0 {
		if len(of) == 1 {
			all[0].at, all[0].size = uint64(of[0].off), uint64(of[0].size)
			return true
		}
		all[0].size = uint64(t.Size())
		return !listed || !split
	}
	if len(all) != len(of) {
		return false
	}
	for i := range all {
		if all[i].size != uint64(of[i].size) {
			return false
		}
		all[i].at = uint64(of[i].off)
	}
	return true
}

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

// parts appends the scalars of a type at off, and reports whether the compiler may keep each as
// a variable of its own.
func parts(t dwarf.Type, off int64, depth int, all []part) (_ []part, split bool) {
	if depth > maxDepth || len(all) >= maxParts {
		return all, false
	}
	split = t.Size() <= 32
	switch t := t.(type) {
	case *dwarf.TypedefType:
		if _, ok := t.Type.(*dwarf.FuncType); ok {
			return append(all, part{off, 8}), true
		}
		return parts(t.Type, off, depth+1, all)
	case *dwarf.QualType:
		return parts(t.Type, off, depth+1, all)
	case *dwarf.FuncType:
		return append(all, part{off, 8}), true
	case *dwarf.ComplexType:
		half := t.Size() / 2
		return append(all, part{off, half}, part{off + half, half}), true
	case *dwarf.ArrayType:
		switch t.Count {
		case 0:
			return all, true
		case 1:
			return parts(t.Type, off, depth+1, all)
		}
		return append(all, part{off, t.Size()}), false
	case *dwarf.StructType:
		split = split && len(t.Field) <= 4
		for _, f := range t.Field {
			var ok bool
			all, ok = parts(f.Type, off+f.ByteOffset, depth+1, all)
			split = split && ok
		}
		return all, split
	}
	return append(all, part{off, t.Size()}), true
}

// lay says which part of a value of type t each piece is, by its at. listed is set for those
// of a location list whose entries have no pieces. It reports false if that is not certain.
func lay(t dwarf.Type, all []piece, listed bool) bool {
	of, split := parts(t, 0, 0, nil)
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

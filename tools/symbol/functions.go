// The functions of a file one by one, for those who want them all.

package symbol

import "iter"

// A Function is a function of a file.
type Function struct {
	// Name is what Lookup calls it.
	Name string
	// Start is its address, End that of the byte behind it: of a Go function with the
	// padding, of one whose symbol has no size up to the next symbol.
	Start, End uint64
}

// Functions returns the functions of the file in the order of their addresses: those of
// Go's pc table, those of a symbol table that are elsewhere, or those that the code of a
// stripped file shows. Of symbols at one address it has the one that Lookup names. A
// symbol may lie in the function of another one, so that they overlap. It yields
// nothing if [File.CanResolve] has an error, or if the file has DWARF alone. The table
// is read when the first function is asked for. Context: host.
func (f *File) Functions() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		g, s, t := f.goTable(), f.symbolFile(), f.symbols()
		var first, last uint64 // of Go's functions
		if g != nil {
			g.needAll()
			start, end := g.TextRange()
			first, last = uint64(start), uint64(end)
		}
		next := 0 // of the symbols
		symbols := func(below uint64, to bool) bool {
			for ; next < len(t.funcs) && (!to || t.funcs[next].addr < below); next++ {
				fs := t.funcs[next]
				if fs.addr >= first && fs.addr < last {
					continue // the pc table knows better
				}
				raw := s.raw(t, &fs)
				end := raw.Value + min(raw.Size, ^raw.Value)
				if raw.Size == 0 {
					n, _ := f.span(raw.Value)
					end = raw.Value + n
				}
				if !yield(Function{Name: s.hit(fs).name, Start: raw.Value, End: end}) {
					return false
				}
			}
			return true
		}
		if g != nil {
			if !symbols(first, true) {
				return
			}
			for fn := range g.funcs() {
				if !yield(Function{Name: g.print(string(g.name(fn))), Start: uint64(fn.Entry()),
					End: uint64(fn.End())}) {
					return
				}
			}
		}
		if !symbols(0, false) || g != nil || len(t.funcs) > 0 {
			return
		}
		f.Code()
		for i := range f.found {
			if fn := &f.found[i]; !yield(Function{Name: fn.Name, Start: fn.Start, End: fn.End}) {
				return
			}
		}
	}
}

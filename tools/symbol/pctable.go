package symbol

import "github.com/zeroframe/zeroframe/tracer"

// PCTable returns Go's pc tables of the file, with the inline trees if they can be found.
// ok is false if there are none. Context: host.
func (f *File) PCTable() (t tracer.PCTable, ok bool) {
	g := f.goTable()
	if g == nil {
		return tracer.PCTable{}, false
	}
	g.needAll()
	t = g.PCTable
	at := g.funcData(f)
	if off := at - g.addr; off < uint64(len(g.tab)) {
		return t.WithFuncData(g.tab[off:]), true
	}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Holds(at) {
			if b, err := f.Data(s); err == nil && at-s.Addr < uint64(len(b)) {
				t = t.WithFuncData(b[at-s.Addr:])
			}
			break
		}
	}
	return t, true
}

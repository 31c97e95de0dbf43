package symbol

// TextStart returns the address where a Go program's text begins, which is runtime.text,
// or that of the section .text; ok is false if there is neither.
func (f *File) TextStart() (addr uint64, ok bool) {
	if g := f.goTable(); g != nil {
		return f.textStart(g)
	}
	if s := f.FirstSection(".text"); s != nil {
		return s.Addr, true
	}
	return 0, false
}

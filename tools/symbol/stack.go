// What an unwinder asks about code, beyond names: the bytes of a section or of an
// address, where a function starts, and what Go's tables say of the stack in it.

package symbol

import "github.com/zeroframe/zeroframe/tracer"

// SectionBytes returns the address and the contents of the section called name,
// unfolded if it is compressed. It reports false if the file has no such section
// or it cannot be read. Context: host.
func (f *File) SectionBytes(name string) (addr uint64, b []byte, ok bool) {
	s := f.section(name)
	if s == nil {
		return 0, nil, false
	}
	b, err := f.data(s)
	return s.addr, b, err == nil
}

// BytesAt returns n bytes as they lie in memory at addr when the file is loaded.
// It reports false if the file does not have them all. Context: host.
func (f *File) BytesAt(addr, n uint64) ([]byte, bool) { return f.readAddr(addr, n) }

// FollowsCall reports whether a call instruction ends right before addr, as it
// does before every return address. Where it does not know the machine's
// instructions, or has no bytes, it says yes. Context: host.
func (f *File) FollowsCall(addr uint64) bool { return f.followsCall(addr) }

// FuncStart returns the address of the function that pc is in: from Go's table, a
// symbol table or, in a stripped file, the code itself. Context: host.
func (f *File) FuncStart(pc uint64) (start uint64, ok bool) {
	if fn, ok := f.GoFunc(pc); ok {
		return fn.Entry, true
	}
	if hit, ok := f.funcAt(pc); ok {
		return hit.start, true
	}
	if fn := f.foundAt(pc); fn != nil {
		return fn.Start, true
	}
	return 0, false
}

// A GoFunc is what Go's pc table says of a function.
type GoFunc struct {
	// Name is the function's name, as the linker wrote it.
	Name string
	// Entry and End bound its code and the padding after it.
	Entry, End uint64
	// Top: a trace that reaches the function is complete. SPWrite: it loads SP
	// with a computed value. Asm: it was written in assembly.
	Top, SPWrite, Asm bool

	fn    tracer.Func
	table *goTable
}

// GoFunc returns the Go function that pc is in. Context: host.
func (f *File) GoFunc(pc uint64) (g GoFunc, ok bool) {
	t := f.goTable()
	if t == nil {
		return g, false
	}
	fn, ok := t.Find(uintptr(pc))
	if !ok {
		return g, false
	}
	flags := fn.Flags()
	return GoFunc{Name: string(t.name(fn)), Entry: uint64(fn.Entry()), End: uint64(fn.End()),
		Top: flags&tracer.FuncFlagTopFrame != 0, SPWrite: flags&tracer.FuncFlagSPWrite != 0,
		Asm: flags&tracer.FuncFlagAsm != 0, fn: fn, table: t}, true
}

// SPDelta returns how many bytes above SP the slot with the return address lies
// when the instruction at pc, which is in the function, is about to run. It is the
// table's word, which in a function with SPWrite holds at the entry only. It
// reports false in the padding after the code. Context: host.
func (g *GoFunc) SPDelta(pc uint64) (delta uint64, ok bool) {
	d, ok := g.table.spDelta(g.fn, pc)
	return uint64(d), ok && d >= 0
}

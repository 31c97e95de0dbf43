// What an unwinder asks about code, beyond names: the bytes of a section or of an
// address, where a function starts, and what Go's tables say of the stack in it.

package symbol

import (
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

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

// GoFunc returns the Go function that pc is in. Context: host.
func (f *File) GoFunc(pc uint64) (g lookup.GoFunc, ok bool) {
	t := f.goTable()
	if t == nil {
		return g, false
	}
	fn, ok := t.Find(uintptr(pc))
	if !ok {
		return g, false
	}
	flags := fn.Flags()
	return lookup.GoFunc{Name: string(t.name(fn)), Entry: uint64(fn.Entry()), End: uint64(fn.End()),
		Top: flags&tracer.FuncFlagTopFrame != 0, SPWrite: flags&tracer.FuncFlagSPWrite != 0,
		Asm: flags&tracer.FuncFlagAsm != 0,
		SPDelta: func(pc uint64) (uint64, bool) {
			d, ok := t.spDelta(fn, pc)
			return uint64(d), ok && d >= 0
		}}, true
}

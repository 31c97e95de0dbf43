package profile

import (
	"github.com/zeroframe/zeroframe/tools/format/eventstream"
	"github.com/zeroframe/zeroframe/tracer"
)

// tailCallers returns the functions, innermost first, that the code proves to be between
// two frames of a stack: the call before the return address of outer goes to another
// function than that of inner, which ends in a jump, its tail call, and so has left no
// trace on the stack. (Package tools/format/trace does this for traces and tells more of it. What
// a sample's stack has is repaired by the pc tables, so no leaf is in the way here.)
func (b *builder) tailCallers(inner, outer eventstream.Frame) (names []string) {
	im := b.sym.Code()
	if im == nil || inner.Kind == tracer.Trap || inner.Addr == 0 {
		return nil
	}
	call, ok := im.CallBefore(outer.Addr)
	if !ok || call.Indirect || !call.Certain {
		return nil
	}
	at := inner.Addr
	if inner.Kind != tracer.PC {
		at--
	}
	called, found := im.Func(call.Target), im.Func(at)
	if called == nil || found == nil || called.Start == found.Start {
		return nil
	}
	inside := ""
	if calls := b.lookUp(inner.Addr, inner.Kind != tracer.PC); len(calls) > 0 {
		inside = calls[len(calls)-1].Function
	}
	path := []uint64{called.Start}
	if p, unique := im.TailPath(called.Start, found.Start); unique {
		path = p
	}
	for n := len(path) - 1; n >= 0; n-- {
		calls := b.lookUp(path[n], false)
		if len(calls) == 0 {
			return nil
		}
		// A wrapper for another calling convention has its function's name.
		if name := calls[len(calls)-1].Function; name != inside {
			names = append(names, name)
		}
	}
	return names
}

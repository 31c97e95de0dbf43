package resolve

// Callers that are not on the stack. A return address says more than who called:
// the instruction before it is the call, and a direct call says whom. If that is
// not the function of the next inner frame, the function called is a caller that
// the stack does not show, and the code proves it:
//
//	foo: CALL a       it ends with JMP b, a tail call, and a's record is gone;
//	a:   JMP b        or b is a leaf, which has no record of its own, and the
//	b:   (is found)   frame pointer is still a's: then what is missing is a
//
// It has no offset: where in it the control went on, nothing says. If direct jumps
// lead from it to the function found, and in one way only, those on the way are
// proven too, but only when the return address is known to be that of the function
// found. Otherwise that one may have been called by a function on the way, whose
// own return address is lost.
//
// An indirect call proves nothing. Nor does a return address that no call has
// pushed: what a trap or a signal handler interrupted, the first function of a
// goroutine, and the place where code goes on that left its stack.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// coder is a Resolver that has the image's code too. A *symbol.File is one.
type coder interface {
	// Code returns the code, or nil.
	Code() *code.Image
}

// Infer puts the callers between the frame at index i of the trace and the next
// inner one into the trace, where they begin at i, and returns how many they are.
func (s *Session) Infer(t *wire.Trace, i int) int {
	callers := s.inferred(t, i)
	t.Frames = slices.Insert(t.Frames, i, callers...)
	return len(callers)
}

// inferred returns the callers between the frame at index i of the trace and the
// next inner one, innermost first. The frame itself is not resolved yet.
func (s *Session) inferred(t *wire.Trace, i int) []wire.Frame {
	if s.sym == nil || s.exact || i == 0 {
		return nil
	}
	outer, inner := &t.Frames[i], &t.Frames[i-1]
	if outer.Kind != tracer.RA || inner.Kind != tracer.PC && inner.Kind != tracer.RA ||
		outer.Stack != inner.Stack || outer.Elided > 0 || len(inner.Calls) == 0 {
		return nil
	}
	c, ok := s.sym.(coder)
	if !ok {
		return nil
	}
	im := c.Code()
	if im == nil {
		return nil
	}
	call, ok := s.callBefore(im, outer.Address)
	if !ok || call.Indirect || !call.Certain {
		return nil
	}
	// A call may lead into a function, past its start (Go's duffzero).
	called := im.Func(call.Target)
	found := im.Func(inner.Address - inner.Calls[len(inner.Calls)-1].Offset)
	if called == nil || found == nil || called.Start == found.Start {
		return nil
	}
	path := []uint64{called.Start}
	if s.ownsReturn(im, inner, outer, found) {
		if p, unique := im.TailPath(called.Start, found.Start); unique {
			path = p
		}
	}
	var callers []wire.Frame
	for n := len(path) - 1; n >= 0; n-- {
		calls := s.lookup(path[n], false)
		if len(calls) == 0 {
			return nil
		}
		// The function alone: what is inlined at its start has not been called yet.
		fn := calls[len(calls)-1]
		fn.Offset = 0
		if n == len(path)-1 && isPartOf(inner.Calls[len(inner.Calls)-1].Function, fn.Function) {
			continue
		}
		callers = append(callers, wire.Frame{
			Kind:    tracer.Inferred,
			Address: path[n],
			Stack:   outer.Stack,
			Calls:   []lookup.Call{fn},
		})
	}
	if len(callers) > lookup.MaxCalls || len(t.Frames)+len(callers) > wire.MaxFrames {
		return nil
	}
	return callers
}

// isPartOf reports whether the function is a part of another one that a compiler
// has put elsewhere (gcc's .cold): a jump there is no call.
func isPartOf(part, whole string) bool {
	if i := strings.LastIndex(part, ".cold"); i > 0 {
		part = part[:i]
	}
	return part == whole
}

// ownsReturn reports whether the return address of the frame outer is that of the
// function of the frame inner, with no other one between them. It is where the pc
// tables say so, or where the function has made a frame record, which is the one
// that the walk has followed.
func (s *Session) ownsReturn(im *code.Image, inner, outer *wire.Frame, found *code.Func) bool {
	if outer.Repaired || outer.Source == wire.SourceCFI {
		return true
	}
	if inner.Kind == tracer.PC {
		if outer.FP == inner.FP {
			return true // the target has read the tables
		}
		if delta, ok := s.sym.SPDelta(inner.Address); ok {
			return inner.SP+delta == inner.FP+8
		}
	}
	return im.HasFrame(found, inner.Address)
}

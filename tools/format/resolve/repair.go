package resolve

// The repair of a first frame. A walk along frame pointers finds the caller of
// the interrupted function at RBP+8, which is true only once the function has
// pushed RBP. In a leaf that never does, in a prologue and in an epilogue, RBP
// is still the caller's, and the walk goes on with the caller's caller: one
// function is missing.
//
//	in a leaf, at PC:                  with its frame set up:
//	  SP+delta -> return address         SP+delta -> return address <- RBP+8
//	                                     SP+..    -> caller's RBP   <- RBP
//	  RBP      -> caller's own record
//
// Go's pcsp table gives delta for each instruction, and the target sends the
// words at SP. So the host knows the slot of the true return address; if that
// is not the slot that the walk uses, the caller in it goes between.
//
// A target that has the tables at hand does the same by itself. What it then
// sends next is that very caller, with the frame pointer of the frame before:
// the walk, which moves upwards, never gives two frames the same. So the caller
// waits for the next frame, or for the end of the walk.

import (
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// repair returns the caller that a walk by frame pointers misses behind the frame f, if it did
// and if the trace carries the word that tells. A pc outside of the text is
// left alone: the target itself adds the caller of a call to nowhere.
func (s *Session) repair(t *wire.Trace, f *wire.Frame) (wire.Frame, bool) {
	sym := s.sym
	if f.Kind != tracer.PC || len(t.Words) == 0 || !sym.IsText(f.Address) || s.exitThunk(f.Address) ||
		s.entryCode(f.Address) {
		return wire.Frame{}, false
	}
	delta, ok := sym.SPDelta(f.Address)
	if !ok {
		return wire.Frame{}, false
	}
	slot := f.SP + delta
	if slot == f.FP+8 {
		return wire.Frame{}, false // the walk comes by here
	}
	ret, ok := t.Word(slot)
	if !ok || !sym.IsText(ret) {
		return wire.Frame{}, false
	}
	if s.exitThunk(ret) {
		return wire.Frame{}, false
	}
	return wire.Frame{
		Kind:     tracer.RA,
		Address:  ret,
		FP:       f.FP, // the interrupted function had not changed it
		Stack:    f.Stack,
		Repaired: true,
	}, true
}

// exitThunk reports whether an address is where tracer.OnReturn lets functions return to:
// only the target knows the true return address.
func (s *Session) exitThunk(addr uint64) bool {
	at := s.lookup(addr, false)
	return len(at) > 0 && strings.HasSuffix(at[0].Function, "/tracer.exitThunk")
}

// entryCode reports whether an address is in the code by which traps and system calls come
// in and go out: there the tables do not hold, and only the target knows what comes next.
func (s *Session) entryCode(addr uint64) bool {
	at := s.lookup(addr, false)
	if len(at) == 0 {
		return false
	}
	_, name, _ := strings.Cut(at[0].Function, "/arch/amd64.")
	switch name {
	case "vectors", "trapEntry", "nmiEntry", "trapLeave", "trapReturn", "syscallEntry",
		"resume", "onStack":
		return true
	}
	return false
}

// Settle decides on the caller that waits, now that the record r has come; nil
// says that nothing more comes. If the caller was missed indeed, Settle puts it
// into the trace, behind the callers that it infers from it, all of them resolved,
// and returns where they begin and how many they are.
func (s *Session) Settle(t *wire.Trace, r *wire.Record) (i, added int) {
	if r != nil && r.Op == wire.OpLeftOut { // the caller may be among those
		s.missed, s.exact = nil, false
	}
	switch {
	case s.missed == nil:
		return 0, 0
	case r == nil, r.Op == wire.OpStop, r.Op == wire.OpDone, r.Op == wire.OpFrame:
	default:
		return 0, 0 // says nothing about the walk
	}
	caller := *s.missed
	s.missed = nil
	if r != nil && r.Op == wire.OpFrame && r.Frame.Kind == caller.Kind &&
		r.Frame.Address == caller.Address && r.Frame.FP == caller.FP {
		return 0, 0
	}
	if r != nil && r.Op == wire.OpFrame && r.Frame.Kind != tracer.Trap &&
		r.Frame.Stack != caller.Stack {
		// The target knows the function as one that has changed RSP to another
		// stack without RBP: what the tables say of its RSP does not hold.
		return 0, 0
	}
	t.Frames = slices.Insert(t.Frames, s.at, caller)
	n := s.Infer(t, s.at)
	s.Resolve(&t.Frames[s.at+n])
	return s.at, n + 1
}

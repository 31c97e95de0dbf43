package resolve

// Code that keeps no frame pointers. A walk along frame pointers passes over such
// functions, or ends in one that has used RBP for something else. The trace
// carries words of the stack, and the ELF file says how to unwind (package
// unwind), so when the trace has ended the host walks once more, by the tables,
// and puts the two walks together. Both go upwards on the stack, each return
// address with a slot of its own, so the slots say what belongs where:
//
//	the walk and the tables     the frame stays as it is
//	the tables alone            the frame is put in, with its source
//	the walk alone, in between  the frame is no caller: it becomes a scan
//	the walk alone, behind      it stays: the words or the rules have ended before
//
// What no table proves is not presented as certain. A frame that was found by
// reading a function's instructions is a scan. Where there is neither, and the
// walk has not come to its end, each word that is an address behind a call is
// shown as one.
//
// Rules of Go functions do not need RBP. So they lead past a frame record that
// somebody has written over, and such a trace does not count as complete although
// it may reach the outermost function: the stack is known to be damaged.

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/unwind"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	maxRuns      = 16  // stacks of one trace that are unwound
	maxUnwound   = 512 // frames on one of them
	maxScanned   = 32  // frames found by scanning
	maxScanWords = 512 // words looked at for that
	topSlack     = 64  // how far below a stack's top its first return address may lie
)

// unwinder unwinds the stacks of one trace.
type unwinder struct {
	t      *wire.Trace
	s      *Session
	tables *unwind.Tables
	sym    unwindable
	notes  []string
}

// stretch is a part of a trace that lies on one stack: what a trap interrupted, up to
// the next trap or change of stack.
type stretch struct {
	frames []wire.Frame
	stack  *wire.Stack // nil if it is not in the table
	limit  uint64      // nothing of it lies at or above it; 0: not known
	last   bool        // the walk ended here
}

// slotted is a frame of either walk with the slot of its return address.
type slotted struct {
	f     wire.Frame
	slot  uint64 // 0: not known
	with  []wire.Frame
	match int // index in the other list, or -1
	sure  bool
}

// unwindable is a Resolver that has unwind tables and code too. A *symbol.File is one.
type unwindable interface {
	unwind.File
	coder
}

// Unwind puts into the trace what the tables know more than its walk, and returns what is
// to be said of it. ok is false if nothing was tried.
func (s *Session) Unwind(t *wire.Trace) (notes []string, ok bool) {
	sym, ok := s.sym.(unwindable)
	if !ok || t.Damaged || t.Last || len(t.Words) == 0 || len(t.Frames) == 0 {
		return nil, false
	}
	if s.cache.tabled != sym {
		s.cache.tables, s.cache.tabled = unwind.New(sym), sym
	}
	u := &unwinder{t: t, s: s, tables: s.cache.tables, sym: sym}
	u.s.exact = false
	u.all()
	return u.notes, true
}

// all unwinds each stretch of the trace.
func (u *unwinder) all() {
	t := u.t
	all := t.Frames
	var out []wire.Frame
	runs := 0
	for at := 0; at < len(all); {
		if all[at].Kind == tracer.Trap {
			out = append(out, all[at])
			at++
			continue
		}
		end := at + 1
		for end < len(all) && all[end].Kind != tracer.Trap && all[end].Stack == all[at].Stack &&
			!gap(all, end) {
			end++
		}
		r := stretch{frames: all[at:end], last: end == len(all)}
		for i := range t.Stacks {
			if t.Stacks[i].Name == all[at].Stack {
				r.stack = &t.Stacks[i]
				r.limit = r.stack.Hi
			}
		}
		if end+1 < len(all) && all[end].Kind == tracer.Trap && all[end+1].Kind == tracer.PC &&
			all[end+1].Stack == all[at].Stack {
			r.limit = all[end+1].SP
		}
		if end < len(all) && gap(all, end) {
			r.limit = all[end-1].FP + 8 // of what lies there, only the number is known
		}
		regs, ok := u.registers(at)
		if ok {
			runs++
		}
		if ok && runs <= maxRuns {
			out = append(out, u.one(&r, regs)...)
		} else {
			out = append(out, r.frames...)
		}
		at = end
	}
	if len(out) <= wire.MaxFrames {
		t.Frames = out
	}
	u.infer()
}

// gap reports whether there are frames before the one at index i that are folded or left out.
func gap(all []wire.Frame, i int) bool { return all[i].Elided > 0 || all[i-1].Repeat > 0 }

// registers returns what is known of the registers in the frame at index i, where
// a stretch begins.
func (u *unwinder) registers(i int) (regs unwind.Regs, ok bool) {
	f := &u.t.Frames[i]
	if i == 0 && u.t.Registers["rip"] == f.Address {
		for name, v := range u.t.Registers {
			if r, ok := unwind.RegNamed(name); ok {
				regs.Set(r, v)
			}
		}
		return regs, regs.Has(unwind.RSP)
	}
	regs.Set(unwind.RA, f.Address)
	regs.Set(unwind.RSP, f.SP)
	regs.Set(unwind.RBP, f.FP)
	return regs, f.Kind == tracer.PC
}

// one unwinds a stretch and returns its frames.
func (u *unwinder) one(r *stretch, regs unwind.Regs) []wire.Frame {
	tr := u.tables.Unwind(&regs, r.frames[0].Kind != tracer.PC, u.t.Word, maxUnwound)
	walk := walked(r.frames)
	walkEnded := !r.last || wire.CompleteEnd(u.t.End)
	found, damaged, cut := u.found(r, &tr, walkEnded)
	r.frames[0].CFA = tr.Frames[0].CFA

	// Which are the same?
	next := 0
	for j := range found {
		for k := next; k < len(walk); k++ {
			w := &walk[k]
			if w.f.Address == found[j].f.Address && (w.slot == 0 || found[j].slot == 0 ||
				w.slot == found[j].slot) {
				w.match, found[j].match, next = j, k, k+1
				w.f.CFA = found[j].f.CFA
				break
			}
		}
	}
	sure := uint64(0) // up to here the tables know every slot
	for j := range found {
		if found[j].sure {
			sure = max(sure, found[j].slot)
		}
	}
	if r.last && !walkEnded {
		u.complete(r, &tr, found, damaged || cut)
	}
	if r.last && !wire.CompleteEnd(u.t.End) && !cut {
		found = append(found, u.scan(r, &tr, walk)...)
	}
	return u.merge(r, walk, found, sure)
}

// walked returns the frames of the walk behind the first of a stretch. Those that are
// inferred stay with the one behind them.
func walked(frames []wire.Frame) (walk []slotted) {
	var with []wire.Frame
	fp := frames[0].FP
	for _, f := range frames[1:] {
		if f.Kind == tracer.Inferred {
			with = append(with, f)
			continue
		}
		w := slotted{f: f, with: with, match: -1}
		if f.FP != fp && !f.Repaired { // the record at fp has led here
			w.slot = fp + 8
		}
		walk = append(walk, w)
		with, fp = nil, f.FP
	}
	return walk
}

// found returns the frames behind the first that the unwinding has found. damaged
// says that a frame record has been written over, cut that the unwinding has left
// the stretch.
func (u *unwinder) found(r *stretch, tr *unwind.Trace,
	walkEnded bool) (found []slotted, damaged, cut bool) {
	sure := true
	for i := range tr.Frames {
		f := &tr.Frames[i]
		if i > 0 {
			if r.limit != 0 && f.Slot >= r.limit || r.stack != nil && f.Slot != 0 && f.Slot < r.stack.Lo {
				return found, damaged, true
			}
			if sure = sure && f.Found != unwind.Prologue; !sure && walkEnded {
				return found, damaged, true // it needs no guesses
			}
			nf := wire.Frame{Kind: tracer.RA, Address: f.PC, FP: f.Regs.Get(unwind.RBP), CFA: f.CFA,
				Stack: r.frames[0].Stack, Source: wire.SourceCFI}
			switch {
			case !sure:
				nf.Kind, nf.Source = tracer.Scan, wire.SourcePrologue
			case f.Exact:
				nf.Kind, nf.SP = tracer.PC, f.Regs.Get(unwind.RSP)
			}
			found = append(found, slotted{f: nf, slot: f.Slot, match: -1, sure: sure})
		}
		if bp := f.Regs.Get(unwind.RBP); i > 0 && f.FP && f.Regs.Has(unwind.RBP) &&
			bp != f.CFA-16 && !damaged {
			damaged = true
			u.notes = append(u.notes,
				fmt.Sprintf("a saved frame pointer has been written over: %#x instead of %#x, that of %s",
					bp, f.CFA-16, u.name(f.PC)))
		}
	}
	return found, damaged, false
}

// name returns the function of a return address.
func (u *unwinder) name(ra uint64) string {
	if calls := u.sym.Lookup(ra, true); len(calls) > 0 {
		return terminal.Clean(calls[len(calls)-1].Function)
	}
	return fmt.Sprintf("%#x", ra)
}

// complete decides what the unwinding says of the end of a trace whose walk ended
// early.
func (u *unwinder) complete(r *stretch, tr *unwind.Trace, found []slotted, doubt bool) {
	if n := len(found); n > 0 && !found[n-1].sure {
		doubt = true
	}
	end := tracer.EndZero.String()
	switch tr.End {
	case unwind.EndTop:
		if u.name(tr.Frames[len(tr.Frames)-1].PC) == "runtime.goexit" {
			end = tracer.EndGoexit.String()
		}
	case unwind.EndZero:
		doubt = doubt || !r.top(tr.Value)
	case unwind.EndNoRule:
		// The entry code loads RSP, for which there is no rule, pushes a zero and
		// calls.
		sp := tr.Frames[len(tr.Frames)-1].Regs.Get(unwind.RSP)
		if w, ok := u.t.Word(sp); !ok || w != 0 || !r.top(sp) {
			return
		}
	case unwind.EndWord:
		u.notes = append(u.notes,
			fmt.Sprintf(
				"the words of the stack end at %#x; trace.stack=BYTES on the kernel's command line carries more", tr.Value))
		return
	default:
		return
	}
	if !doubt {
		u.t.WalkEnd, u.t.End = u.t.End, end
	}
}

// top reports whether the word at the address lies so near to the top of the stack
// that the stack's entry code may have put it there. Zeros elsewhere are no end.
func (r *stretch) top(addr uint64) bool {
	return r.stack != nil && addr >= r.stack.Lo && addr < r.stack.Hi && r.stack.Hi-addr <= topSlack
}

// scan looks for return addresses where the unwinding has ended for want of a rule.
func (u *unwinder) scan(r *stretch, tr *unwind.Trace, walk []slotted) (found []slotted) {
	switch tr.End {
	case unwind.EndNoRule, unwind.EndRegister, unwind.EndExpr:
	default:
		return nil
	}
	known := make(map[uint64]bool)
	for i := range walk {
		known[walk[i].slot] = true
	}
	outermost := &tr.Frames[len(tr.Frames)-1]
	if !outermost.Regs.Has(unwind.RSP) {
		return nil
	}
	slot := (outermost.Regs.Get(unwind.RSP) + 7) &^ 7
	for range maxScanWords {
		w, ok := u.t.Word(slot)
		if !ok || r.limit != 0 && slot >= r.limit || len(found) == maxScanned {
			break
		}
		if !known[slot] && u.sym.IsText(w) && u.returns(w) {
			found = append(found, slotted{slot: slot, match: -1,
				f: wire.Frame{Kind: tracer.Scan, Address: w, Stack: r.frames[0].Stack,
					Source: wire.SourceScan}})
		}
		slot += 8
	}
	return found
}

// returns reports whether a call stands before the address.
func (u *unwinder) returns(addr uint64) bool {
	if im := u.sym.Code(); im != nil {
		_, ok := im.CallBefore(addr)
		return ok
	}
	return u.sym.FollowsCall(addr)
}

// merge puts the two walks together, in the order of the slots.
func (u *unwinder) merge(r *stretch, walk, found []slotted, sure uint64) []wire.Frame {
	out := []wire.Frame{r.frames[0]}
	put := false // the frame before is one that was put in
	for i, j := 0, 0; i < len(walk) || j < len(found); {
		var w, c *slotted
		if i < len(walk) {
			w = &walk[i]
		}
		if j < len(found) {
			c = &found[j]
		}
		if c == nil || w != nil && (w.match == j || w.match < 0 && (c.match >= 0 || w.slot < c.slot)) {
			if w.match < 0 && w.slot != 0 && w.slot <= sure && w.f.Kind == tracer.RA {
				w.f.Kind = tracer.Scan
				u.notes = append(u.notes, fmt.Sprintf("%#x (%s) is no caller, by the unwind tables",
					w.f.Address, u.name(w.f.Address)))
			}
			if !put {
				out = append(out, w.with...)
			}
			out = append(out, w.f)
			if w.match >= 0 {
				j++
			}
			i, put = i+1, false
			continue
		}
		f := c.f
		u.s.Resolve(&f)
		u.s.exact = false // the tables know by themselves which address is exact
		out = append(out, f)
		j, put = j+1, true
	}
	return out
}

// Infer looks for callers that are not on the stack (inferred.go) around the
// frames that were put in.
func (u *unwinder) infer() {
	t := u.t
	for i := 1; i < len(t.Frames); i++ {
		if t.Frames[i].Source == wire.SourceCFI || t.Frames[i-1].Source == wire.SourceCFI {
			i += u.s.Infer(t, i)
		}
	}
}

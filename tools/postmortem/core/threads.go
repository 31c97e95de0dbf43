package core

// The threads of a core file. A debugger unwinds by the ELF file's tables, which
// end at a trap, and where a runtime changes stacks by itself; the trace goes on.
// So each side of such a boundary becomes a thread of its own, innermost first, and
// a debugger's "thread apply all bt" shows all that the trace has.
//
// A debugger takes the pc of a thread's first frame for exact. A return address is
// not: the line is that of the instruction before it, and behind the call of a
// function that does not return another function may begin. So where all that is
// known is a return address, the thread stands at the call, in the state just
// before it: the stack pointer is the same there, since a call pushes one word and
// its return pops it.

import (
	"maps"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

// thread is a place where code was running.
type thread struct {
	regs map[string]uint64
	call bool // it stands at the call before what the trace says
	// goroutine is set if it is a goroutine that waited, and no thread's state.
	goroutine bool
	fpu       []byte // an FXSAVE area; nil: the FPU's state is not known
}

// Where a trap record has what (package tracer, walk.go), in bytes.
const (
	recordMark   = 8
	recordCS     = 40
	recordRFLAGS = 48
	recordRSP    = 56
	recordSS     = 64
)

// threadsOf returns the places of a trace, innermost first.
func threadsOf(t *wire.Trace, sym Symbols) (threads []thread) {
	words := t.Words
	var prev *wire.Frame // that is on a stack, or a trap
	var record uint64    // the trap record behind which the next frame is, or 0
	for i := range t.Frames {
		f := &t.Frames[i]
		switch f.Kind {
		case tracer.Trap:
			record = 0
			if prev != nil && words[prev.FP+recordMark] == uint64(tracer.TrapMark) {
				record = prev.FP
			}
			prev = f
			continue
		case tracer.PC, tracer.RA:
		default:
			continue // nothing says that it ran
		}
		p := prev
		prev = f
		follows := p != nil && p.Kind != tracer.Trap && f.Kind != tracer.PC &&
			(f.Stack == p.Stack || f.Source != "")
		if follows && !lost(t, p) {
			continue
		}
		var th thread
		switch {
		case p == nil && t.Registers["rip"] == f.Address && len(t.Registers) > 0:
			th.regs = maps.Clone(t.Registers)
		case f.Kind == tracer.PC:
			th.regs = map[string]uint64{"rip": f.Address, "rsp": f.SP, "rbp": f.FP}
		default:
			sp, ok := stackPointer(t, i, sym)
			if w, have := words[record+recordRSP]; have && record != 0 {
				sp, ok = w, true
			}
			if !ok {
				continue
			}
			th.regs = map[string]uint64{"rip": f.Address, "rsp": sp, "rbp": f.FP}
		}
		if record != 0 {
			for name, off := range map[string]uint64{"cs": recordCS, "rflags": recordRFLAGS,
				"ss": recordSS} {
				if w, ok := words[record+off]; ok {
					th.regs[name] = w
				}
			}
		}
		record = 0
		if f.Kind == tracer.RA {
			th.backToCall(sym)
		}
		threads = append(threads, th)
	}
	if len(threads) == 0 && len(t.Registers) > 0 {
		threads = append(threads, thread{regs: maps.Clone(t.Registers)})
	}
	return threads
}

// backToCall lets a thread stand at its call, if that is known, and not where it returns to.
func (th *thread) backToCall(sym Symbols) {
	if im := sym.Code(); im != nil {
		if c, ok := im.CallBefore(th.regs["rip"]); ok {
			th.regs["rip"], th.call = c.At, true
		}
	}
}

// lost reports whether a frame's stack pointer is nowhere near the stack that its frame
// pointer is in: a debugger, which unwinds by the stack pointer, finds no caller.
func lost(t *wire.Trace, f *wire.Frame) bool {
	const guard = 4096 // below a stack; an overflow ends there
	for i := range t.Stacks {
		if s := &t.Stacks[i]; s.Name == f.Stack && f.Kind == tracer.PC {
			return f.SP > s.Hi || f.SP < s.Lo-min(s.Lo, guard)
		}
	}
	return false
}

// stackPointer returns RSP at the return address of frame i. A function that has a frame
// record has it just below its own return address, which lies as far above RSP as the
// tables say. One that calls before it has made its record, such as one that needs a
// larger stack, has its caller's frame pointer; its return address is what the caller's
// call has pushed.
func stackPointer(t *wire.Trace, i int, sym Symbols) (sp uint64, ok bool) {
	f := &t.Frames[i]
	delta, ok := distance(f, sym)
	if !ok {
		return 0, false
	}
	slot := f.FP + 8
	if next := caller(t, i); next != nil && next.FP == f.FP {
		d, ok := distance(next, sym)
		if !ok {
			return 0, false
		}
		slot = next.FP + 8 - d - 8
	}
	return slot - delta, delta <= slot
}

// distance returns how far above RSP a frame's own return address lies.
func distance(f *wire.Frame, sym Symbols) (delta uint64, ok bool) {
	if f.Kind != tracer.RA || f.FP == 0 || !sym.IsText(f.Address-1) {
		return 0, false
	}
	delta, ok = sym.SPDelta(f.Address - 1)
	return delta, ok && delta <= f.FP
}

// caller returns the frame behind frame i if it is on the same stack, or nil.
func caller(t *wire.Trace, i int) *wire.Frame {
	for j := i + 1; j < len(t.Frames); j++ {
		if f := &t.Frames[j]; f.Kind != tracer.Inferred {
			if f.Kind == tracer.RA && f.Stack == t.Frames[i].Stack {
				return f
			}
			return nil
		}
	}
	return nil
}

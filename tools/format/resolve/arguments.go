package resolve

// What the functions of a trace were called with (package argument). It needs of each frame
// where it lies: the CFA, the stack pointer in the caller behind its call. A function's pc
// table says how far that is from its own stack pointer, which the CPU says of a pc frame, and
// of a caller is the CFA of the frame before. Where a frame record is, it must be just below the
// CFA: if the two differ, nothing is shown of that frame. Registers are those of frame 0, and those
// of a fault or a failed bounds check that became a panic; Go preserves none over a call.

import (
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/argument"
	"github.com/zeroframe/zeroframe/tracer"
)

// describer is a Resolver that knows the parameters of functions. A *symbol.File is one.
type describer interface {
	Arguments() *argument.Image
}

// Arguments puts the arguments into the frames of a trace that has ended, and reports whether
// it has found any.
func (s *Session) Arguments(t *wire.Trace) (found bool) {
	d, ok := s.sym.(describer)
	if !ok || t.Damaged || t.Repeat || len(t.Words) == 0 {
		return false
	}
	inner := uint64(0) // CFA of the frame before; 0: not known
	frames := make([]*argument.Frame, len(t.Frames))
	for i := range t.Frames {
		f := &t.Frames[i]
		cfa := s.cfa(t, i, inner)
		if inner = cfa; f.Repeat > 0 && f.LastFP != 0 {
			inner = f.LastFP + 16
		}
		if cfa == 0 || f.Kind != tracer.PC && f.Kind != tracer.RA {
			continue
		}
		fr := &argument.Frame{PC: s.within(t, i), CFA: cfa, Word: t.Word}
		frames[i] = fr
		if i > 0 && returns(&t.Frames[i-1], f) {
			fr.Behind = f.Address
		}
		regs := map[string]uint64(nil)
		switch {
		case f.Kind == tracer.RA && i > 0:
			regs = boundsRegisters(t, &t.Frames[i-1], f)
		case f.Kind != tracer.PC:
		case i == 0 && t.Registers["rip"] == f.Address:
			regs = t.Registers
		case i > 0 && t.Frames[i-1].Kind == tracer.RA:
			regs = s.faultRegisters(t, f)
		}
		if regs != nil {
			fr.Register = func(name string) (uint64, bool) {
				v, ok := regs[name]
				return v, ok
			}
		}
		if i > 0 && frames[i-1] != nil && f.Kind == tracer.RA && f.Elided == 0 &&
			t.Frames[i-1].Repeat == 0 && t.Frames[i-1].Stack == f.Stack {
			frames[i-1].Up = fr
		}
	}
	for i, fr := range frames {
		f := &t.Frames[i]
		if fr == nil {
			continue
		}
		all := d.Arguments().Arguments(fr)
		if len(all) != len(f.Calls) {
			continue // the two do not agree on what is inlined
		}
		f.Arguments = all
		for _, args := range all {
			for _, a := range args {
				found = found || a.Known
			}
		}
	}
	return found
}

// returns reports whether a frame is at a call that may return, that of the frame at, for all that
// the compiler knows. It knows that some of the runtime's functions do not: what it has put behind
// their calls may be of another path.
func returns(at, f *wire.Frame) bool {
	if f.Kind != tracer.RA || f.Elided > 0 || at.Stack != f.Stack || len(at.Calls) == 0 ||
		at.Kind != tracer.PC && at.Kind != tracer.RA {
		return false
	}
	return !strings.HasPrefix(at.Calls[len(at.Calls)-1].Function, "runtime.")
}

// savedRegisters are the registers that the kernel keeps of the latest fault of a program, in the
// order of Linux's struct sigcontext.
var savedRegisters = [...]string{"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip"}

// faultRegisters returns the registers with which a frame ran that a signal handler has let call
// sigpanic, if the trace has those and they are this frame's.
func (s *Session) faultRegisters(t *wire.Trace, f *wire.Frame) map[string]uint64 {
	sym, ok := s.sym.(interface {
		Symbol(name string) (addr, size uint64, ok bool)
	})
	if !ok {
		return nil
	}
	at, _, ok := sym.Symbol("github.com/zeroframe/zeroframe/kernel/linux.faultRegisters")
	regs := make(map[string]uint64)
	for i, name := range savedRegisters {
		v, known := t.Word(at + uint64(i)*8)
		if ok = ok && known; !ok {
			return nil
		}
		regs[name] = v
	}
	if regs["rip"] != f.Address || regs["rsp"] != f.SP {
		return nil
	}
	return regs
}

// boundsRegisters returns the registers of the frame f, which a failed bounds check has ended, as
// runtime.panicBounds has saved them in its frame, which is at: from 128 bytes below its record
// on. The saved RBP is the address of that record, if the stack has not been moved since.
//
// Source: runtime/asm_amd64.s (panicBounds) of Go 1.26.
func boundsRegisters(t *wire.Trace, at, f *wire.Frame) map[string]uint64 {
	if n := len(at.Calls); at.Kind != tracer.RA || n == 0 ||
		at.Calls[n-1].Function != "runtime.panicBounds" {
		return nil
	}
	base := at.FP - 128
	rbp, _ := t.Word(base + 5*8)
	if ra, _ := t.Word(at.FP + 8); ra != f.Address || rbp != at.FP {
		return nil
	}
	regs := make(map[string]uint64)
	for i, name := range [...]string{"rax", "rcx", "rdx", "rbx", "", "", "rsi", "rdi", "r8", "r9",
		"r10", "r11", "r12", "r13", "", "r15"} {
		if v, ok := t.Word(base + uint64(i)*8); ok && name != "" {
			regs[name] = v
		}
	}
	return regs
}

// within returns an address in the instruction that the frame at index i is at: for a return
// address, that of the call.
func (s *Session) within(t *wire.Trace, i int) uint64 {
	f := &t.Frames[i]
	if f.Kind == tracer.RA {
		return f.Address - 1
	}
	return f.Address
}

// cfa returns that of the frame at index i of the trace, or 0.
func (s *Session) cfa(t *wire.Trace, i int, inner uint64) uint64 {
	f := &t.Frames[i]
	if f.Kind != tracer.PC && f.Kind != tracer.RA || f.Bare || len(f.Calls) == 0 {
		return 0
	}
	delta, ok := s.sym.SPDelta(s.within(t, i))
	if !ok {
		return 0
	}
	if f.Kind == tracer.PC {
		return f.SP + delta + 8
	}
	record := f.FP + 16
	if delta == 0 {
		record = 0 // it has none
	}
	if i == 0 || inner == 0 || f.Elided > 0 || t.Frames[i-1].Stack != f.Stack {
		return record
	}
	if cfa := inner + delta + 8; delta == 0 || cfa == record {
		return cfa
	}
	return 0
}

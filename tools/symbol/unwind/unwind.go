package unwind

import (
	"strings"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// File is what the rules of an ELF file are made of. A *symbol.File is one, whose
// methods say more of each.
type File interface {
	Arch() string
	Section(addr uint64) (name string, start uint64, ok bool)
	SectionBytes(name string) (addr uint64, b []byte, ok bool)
	BytesAt(addr, n uint64) ([]byte, bool)
	GoFunc(pc uint64) (lookup.GoFunc, bool)
	FuncStart(pc uint64) (start uint64, ok bool)
	Lookup(addr uint64, ret bool) []lookup.Call
	IsText(addr uint64) bool
	FollowsCall(addr uint64) bool
}

// Tables are the unwind tables of one ELF file. They are read when they are first
// asked. Its methods may be called from several goroutines at once. Host.
type Tables struct {
	f    File
	once sync.Once
	eh   *elf.Frames
	df   *elf.Frames
}

// New returns the tables of a file, which must stay open. Host.
func New(f File) *Tables { return &Tables{f: f} }

func (t *Tables) load() {
	t.once.Do(func() {
		addr, b, _ := t.f.SectionBytes(".eh_frame")
		t.eh = elf.NewFrames(b, addr, true)
		addr, b, _ = t.f.SectionBytes(".debug_frame")
		t.df = elf.NewFrames(b, addr, false)
	})
}

// Row returns the rules for the instruction at pc. It reports false where nothing
// is known of it, or the file is not for amd64. Host.
func (t *Tables) Row(pc uint64) (row Row, ok bool) {
	if t.f != nil {
		if t.f.Arch() != "amd64" {
			return row, false
		}
		if g, ok := t.f.GoFunc(pc); ok {
			return t.goRow(&g, pc)
		}
	}
	t.load()
	if row, ok = rowAt(t.eh, pc); ok {
		return row, true
	}
	if row, ok = rowAt(t.df, pc); ok {
		return row, true
	}
	if t.f == nil {
		return row, false
	}
	if start, ok := t.f.FuncStart(pc); ok {
		if calls := t.f.Lookup(start, false); len(calls) > 0 &&
			strings.Contains(calls[len(calls)-1].Function, ".cold") {
			return row, false // a part of a function, with a frame that was made elsewhere
		}
		return t.prologueRow(start, pc)
	}
	return t.pltRow(pc)
}

// Regs are values of registers, of which some may not be known.
type Regs struct {
	v    [NumRegs]uint64
	have uint32
}

// Set gives a register a value.
func (r *Regs) Set(reg Reg, v uint64) {
	r.v[reg] = v
	r.have |= 1 << reg
}

// Get returns a register's value, 0 if it is not known.
func (r *Regs) Get(reg Reg) uint64 { return r.v[reg] }

// Has reports whether a register's value is known.
func (r *Regs) Has(reg Reg) bool { return r.have&(1<<reg) != 0 }

// Frame is a function on the stack.
type Frame struct {
	// Regs are the registers as they are in the frame, as far as they are known.
	Regs Regs
	// PC is the address in the function: of an instruction if it is Exact,
	// otherwise a return address. It is Regs' RA.
	PC    uint64
	Exact bool
	// Slot is the address of the word on the stack that PC was in; 0 if it was in
	// none.
	Slot uint64
	// CFA is the frame's canonical frame address: RSP in the caller, behind its
	// call. It is 0 in a frame where the unwinding has ended for want of rules.
	CFA uint64
	// Found says by which rules the frame was found, those of the frame before it.
	Found Source
	// FP is set if RBP must be CFA-16 here (Row.FP).
	FP bool
}

// End is the reason for which an unwinding ended.
type End uint8

const (
	// EndTop: the tables say that there is no caller. Complete.
	EndTop End = iota + 1
	// EndZero: the return address is 0. Who knows where the stack ends can tell
	// whether that is how it was begun. The value is the slot's address.
	EndZero
	// EndNoRule: nothing is known of the code. The value is its address.
	EndNoRule
	// EndRegister: a rule wants a register that is not known: the value.
	EndRegister
	// EndWord: a rule wants memory that is not known, at the value.
	EndWord
	// EndExpr: an expression has no value, for either reason or its own.
	EndExpr
	// EndText: the return address, the value, is no code.
	EndText
	// EndCall: no call stands before the return address, the value.
	EndCall
	// EndBackward: the frame would lie below the stack pointer. The value is its
	// CFA.
	EndBackward
	// EndLimit: there are more frames.
	EndLimit
)

// String returns the reason in a few words.
func (e End) String() string {
	if int(e) < len(endNames) && endNames[e] != "" {
		return endNames[e]
	}
	return "?"
}

var endNames = [...]string{
	EndTop: "outermost function", EndZero: "return address 0",
	EndNoRule:   "no unwind rule for the code",
	EndRegister: "a register is not known", EndWord: "a word of the stack is not known",
	EndExpr: "an expression has no value", EndText: "return address is not in the text",
	EndCall: "return address follows no call", EndBackward: "frame below the stack pointer",
	EndLimit: "frame limit",
}

// Trace is what an unwinding has found.
type Trace struct {
	// Frames are the frames, innermost first. The first one is where it began.
	Frames []Frame
	// End says why it ended, Value at what.
	End   End
	Value uint64
}

// Unwind walks the stack from the registers, of which RA (the pc) and RSP are
// needed; ret says that the pc is a return address. It finds up to limit frames,
// the first one included. mem gives the words of the stack. Host.
func (t *Tables) Unwind(regs *Regs, ret bool, mem Memory, limit int) (tr Trace) {
	tr.Frames = append(tr.Frames, Frame{Regs: *regs, PC: regs.Get(RA), Exact: !ret})
	for {
		next, end, value := t.caller(&tr.Frames[len(tr.Frames)-1], mem)
		if end == 0 && len(tr.Frames) >= limit {
			end, value = EndLimit, next.PC
		}
		if end != 0 {
			tr.End, tr.Value = end, value
			return tr
		}
		tr.Frames = append(tr.Frames, next)
	}
}

// caller finds the caller of a frame. If there is none, or it cannot be found, the
// reason is not 0.
func (t *Tables) caller(f *Frame, mem Memory) (next Frame, end End, value uint64) {
	row, ok := t.rowOf(f)
	if !ok {
		return next, EndNoRule, f.PC
	}
	if row.Top || row.Regs[row.Column].Kind == Undefined {
		return next, EndTop, 0
	}
	cfa, end, value := apply(&row.CFA, 0, &f.Regs, 0, mem)
	if end != 0 {
		return next, end, value
	}
	f.CFA, f.FP = cfa, row.FP
	if f.Regs.Has(RSP) && cfa <= f.Regs.Get(RSP) && !row.Signal {
		return next, EndBackward, cfa
	}
	column := row.Regs[row.Column]
	switch column.Kind {
	case AtCFA:
		next.Slot = cfa + uint64(column.Off)
	case AtExpr:
		next.Slot, _ = evaluate(column.Expr, &f.Regs, mem, cfa)
	}
	for r := range Reg(NumRegs) {
		if r == RSP && row.Regs[r].Kind == Unspecified {
			next.Regs.Set(RSP, cfa)
			continue
		}
		v, why, at := apply(&row.Regs[r], r, &f.Regs, cfa, mem)
		if why == 0 {
			next.Regs.Set(r, v)
		} else if r == row.Column {
			end, value = why, at
		}
	}
	if end != 0 {
		return next, end, value
	}
	next.PC = next.Regs.Get(row.Column)
	next.Regs.Set(RA, next.PC)
	next.Exact, next.Found = row.Signal || row.Exact, row.Source
	switch {
	case next.PC == 0:
		return next, EndZero, next.Slot
	case t.f != nil && !t.f.IsText(next.PC):
		return next, EndText, next.PC
	case t.f != nil && !next.Exact && !t.returnsTo(next.PC):
		return next, EndCall, next.PC
	}
	return next, 0, 0
}

// rowOf returns the rules of a frame.
func (t *Tables) rowOf(f *Frame) (row Row, ok bool) {
	if t.f != nil && f.Exact && !t.f.IsText(f.PC) {
		// A call or jump to what is no code (nil, data): nothing has run there, so
		// the return address is still on top of the stack.
		row = Row{Start: f.PC, Column: RA, CFA: Rule{Kind: InReg, Reg: RSP, Off: 8}, Source: Called}
		row.Regs[RA] = Rule{Kind: AtCFA, Off: -8}
		return row, true
	}
	pc := f.PC
	if !f.Exact {
		pc-- // the call itself: a function may end with it
	}
	return t.Row(pc)
}

// returnsTo reports whether the address is one that a return may lead to: a call
// stands before it, or it is a place that is made up to be returned to.
func (t *Tables) returnsTo(ra uint64) bool {
	if t.f.FollowsCall(ra) {
		return true
	}
	row, ok := t.Row(ra - 1)
	return ok && (row.Top || row.Signal)
}

// apply gets back the register reg, or the CFA.
func apply(rule *Rule, reg Reg, regs *Regs, cfa uint64,
	mem Memory) (v uint64, end End, value uint64) {
	at := cfa + uint64(rule.Off)
	switch rule.Kind {
	case Unspecified:
		if !reg.kept() {
			return 0, EndRegister, uint64(reg)
		}
		fallthrough
	case Same:
		if !regs.Has(reg) {
			return 0, EndRegister, uint64(reg)
		}
		return regs.Get(reg), 0, 0
	case CFAPlus:
		return at, 0, 0
	case InReg:
		if !regs.Has(rule.Reg) {
			return 0, EndRegister, uint64(rule.Reg)
		}
		return regs.Get(rule.Reg) + uint64(rule.Off), 0, 0
	case AtCFA:
	case AtExpr, IsExpr:
		// The CFA's own expression starts with an empty stack (DWARF 5, 6.4.2.2).
		var ok bool
		if rule.Kind == IsExpr && cfa == 0 {
			at, ok = evaluate(rule.Expr, regs, mem)
		} else {
			at, ok = evaluate(rule.Expr, regs, mem, cfa)
		}
		if !ok {
			return 0, EndExpr, 0
		}
		if rule.Kind == IsExpr {
			return at, 0, 0
		}
	default:
		return 0, EndRegister, uint64(reg)
	}
	v, ok := load(mem, at, 8)
	if !ok {
		return 0, EndWord, at
	}
	return v, 0, 0
}

package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Program is what is asked of a program.
type Program interface {
	// Name returns the name of the function that begins at pc, or "".
	Name(pc uint64) string
	// Constant returns a word of memory that nobody writes to.
	Constant(addr uint64) (uint64, bool)
	// Length returns that of an instruction, which x86asm need not know; 0 if it is none.
	Length(text []byte) int
}

// Inst is an instruction.
type Inst struct {
	x86asm.Inst // Op is 0 if it is not known
	PC, Next    uint64
}

// Function is the code of one function. Context: host.
type Function struct {
	Name       string
	Start, End uint64
	Insts      []Inst
	*Values
	// Before is what is known at the beginning of each block; Nexts are the blocks that may follow it.
	Before map[uint64]*State
	Nexts  map[uint64][]uint64
	// Leads are where blocks begin.
	Leads map[uint64]bool
	// Strict says that what is known has to be proved.
	Strict bool
	// Failed is set if the function cannot be followed.
	Failed bool
	// Object bounds the variable of the frame at a distance from the CFA: a pointer to it leads
	// nowhere else. Strict needs it, and ArgsSize, which returns how many bytes the function at an
	// address gets on the stack.
	Object   func(at int64) (lo, hi int64)
	ArgsSize func(pc uint64) int64

	program Program
	hooks   Hooks
	spDelta func(pc uint64) (uint64, bool)
	taken   map[span]bool // words of the frame to which a pointer may lead
	work    int           // see maxWork
}

type span struct{ lo, hi int64 }

// maxCode bounds the code of a function that is followed, in bytes.
const maxCode = 256 << 10

// Read decodes the code of a function from start up to end; nil if it is too long. spDelta is as
// that of [lookup.GoFunc].
func Read(p Program, name string, start, end uint64, text []byte,
	spDelta func(pc uint64) (uint64, bool)) *Function {
	if end-start > maxCode {
		return nil
	}
	f := &Function{Name: name, Start: start, End: end, program: p, spDelta: spDelta,
		Leads: map[uint64]bool{start: true}}
	for at := uint64(0); at < uint64(len(text)); {
		x, err := x86asm.Decode(text[at:], 64)
		if err != nil || x.Len == 0 {
			if text[at] == 0xcc {
				break // padding
			}
			// What x86asm does not know writes anything.
			x = x86asm.Inst{Len: max(p.Length(text[at:]), 1)}
		}
		f.Insts = append(f.Insts, Inst{x, start + at, start + at + uint64(x.Len)})
		at += uint64(x.Len)
	}
	for i := range f.Insts {
		in := &f.Insts[i]
		if to, ok := in.Target(); ok && in.Op != x86asm.CALL && f.Holds(to) {
			f.Leads[to] = true
		}
		if in.ends() || in.Conditional() {
			f.Leads[in.Next] = true
		}
	}
	return f
}

// Fresh returns the function as one that has not been followed.
func (f *Function) Fresh() *Function {
	c := *f
	c.Leads, c.taken, c.Values = maps.Clone(f.Leads), make(map[span]bool), newValues()
	return &c
}

// Holds reports whether pc is in the function.
func (f *Function) Holds(pc uint64) bool { return pc-f.Start < f.End-f.Start }

// Index returns the number of the instruction at pc.
func (f *Function) Index(pc uint64) (int, bool) {
	return slices.BinarySearchFunc(f.Insts, pc, func(i Inst,
		pc uint64) int {
		return cmp.Compare(i.PC, pc)
	})
}

// CFA returns how far SP is below the CFA before the instruction at pc.
func (f *Function) CFA(pc uint64) (int64, bool) {
	d, ok := f.spDelta(pc)
	return int64(d) + 8, ok
}

// Target returns where a direct call or jump leads.
func (i *Inst) Target() (uint64, bool) {
	rel, ok := i.Args[0].(x86asm.Rel)
	return i.Next + uint64(int64(rel)), ok
}

// ends reports whether nothing runs on after the instruction.
func (i *Inst) ends() bool {
	switch i.Op {
	case x86asm.JMP, x86asm.RET, x86asm.UD2, x86asm.INT, x86asm.HLT:
		return true
	}
	return false
}

// Conditional reports whether an instruction may jump.
func (i *Inst) Conditional() bool {
	_, ok := i.Target()
	return ok && i.Op != x86asm.CALL && i.Op != x86asm.JMP
}

// Pointer returns the address that LEA makes of one in the code, ok if the instruction does that.
func (i *Inst) Pointer() (to uint64, ok bool) {
	m, ok := i.Args[1].(x86asm.Mem)
	return i.Next + uint64(m.Disp), ok && i.Op == x86asm.LEA && m.Base == x86asm.RIP
}

// Register returns a general register's number and how many of its bytes are meant; of XMM
// registers the place, and 16.
func Register(a x86asm.Arg) (n, size int, ok bool) {
	r, isReg := a.(x86asm.Reg)
	switch {
	case !isReg:
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8, true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2, true
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, true
	case HighByte(a):
		return int(r - x86asm.AH), 1, true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + SP, 1, true
	case r >= x86asm.X0 && r <= x86asm.X15:
		return int(r-x86asm.X0) + X, 16, true
	}
	return 0, 0, false
}

// HighByte reports whether an operand is the second byte of a register.
func HighByte(a x86asm.Arg) bool {
	r, ok := a.(x86asm.Reg)
	return ok && r >= x86asm.AH && r <= x86asm.BH
}

// noReturn reports whether a function never returns, or, as morestack does, begins its caller anew.
func noReturn(name string) bool {
	name, ok := strings.CutPrefix(name, "runtime.")
	return ok && (name == "goexit0" || name == "block" ||
		slices.ContainsFunc([]string{"morestack", "panic", "goPanic", "gopanic", "throw", "fatal"},
			func(s string) bool { return strings.HasPrefix(name, s) }))
}

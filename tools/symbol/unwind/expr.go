package unwind

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// DWARF expressions, as call frame information uses them: over the registers and
// the memory of the frame. The linker's procedure linkage tables have one for
// their CFA, signal frames one for each register.

const (
	maxExprStack = 64
	maxExprSteps = 1 << 10 // expressions may jump backwards
)

// evaluate runs an expression. start, if there is one, is on its stack at first.
// It reports false where the expression is damaged, or wants a register or a word
// that is not known.
func evaluate(expr []byte, regs *Regs, mem Memory, start ...uint64) (v uint64, ok bool) {
	e := elf.Expr{Cursor: elf.Cursor{B: expr}, Stack: start,
		Register: func(no uint64) (uint64, bool) {
			if no >= NumRegs || !regs.Has(Reg(no)) {
				return 0, false
			}
			return regs.Get(Reg(no)), true
		},
		Memory: func(addr uint64, size int) (uint64, bool) { return load(mem, addr, size) }}
	for steps := 0; e.Left() > 0; steps++ {
		if e.Step(e.U8()); e.Bad || steps == maxExprSteps || len(e.Stack) >= maxExprStack {
			return 0, false
		}
	}
	v = e.Pop()
	return v, !e.Bad
}

// Memory returns the word at an address that is a multiple of 8, if it is known.
type Memory func(addr uint64) (word uint64, ok bool)

// load reads 1 to 8 bytes at any address.
func load(mem Memory, addr uint64, size int) (v uint64, ok bool) {
	if mem == nil {
		return 0, false
	}
	shift := addr % 8 * 8
	lo, ok := mem(addr &^ 7)
	if !ok {
		return 0, false
	}
	v = lo >> shift
	if shift/8+uint64(size) > 8 {
		hi, ok := mem(addr&^7 + 8)
		if !ok {
			return 0, false
		}
		v |= hi << (64 - shift)
	}
	if size < 8 {
		v &= 1<<(8*uint(size)) - 1
	}
	return v, true
}

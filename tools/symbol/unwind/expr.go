package unwind

import "github.com/zeroframe/zeroframe/tools/symbol/elf"

// DWARF expressions, as call frame information uses them: a stack machine over
// the registers and the memory of the frame. The linker's procedure linkage
// tables have one for their CFA, signal frames one for each register.

const (
	maxExprStack = 64
	maxExprSteps = 1 << 10 // expressions may jump backwards
)

// Operations (DWARF 5, 7.7.1).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// evaluate runs an expression. start, if there is one, is on its stack at first.
// It reports false where the expression is damaged, or wants a register or a word
// that is not known.
func evaluate(expr []byte, regs *Regs, mem Memory, start ...uint64) (v uint64, ok bool) {
	c := elf.Cursor{B: expr}
	stack := append(make([]uint64, 0, maxExprStack), start...)
	for steps := 0; c.Left() > 0; steps++ {
		if steps == maxExprSteps || len(stack) >= maxExprStack-1 {
			return 0, false
		}
		op := c.U8()
		n := len(stack)
		if n < operands(op) {
			return 0, false
		}
		push := func(v uint64) { stack = append(stack, v) }
		switch {
		case op >= opLit0 && op <= opLit31:
			push(uint64(op - opLit0))
			continue
		case op >= opBreg0 && op <= opBreg31 || op == opBregx:
			r := uint64(op - opBreg0)
			if op == opBregx {
				r = c.ULEB()
			}
			off := c.SLEB()
			if r >= NumRegs || !regs.Has(Reg(r)) || c.Bad {
				return 0, false
			}
			push(regs.Get(Reg(r)) + uint64(off))
			continue
		}
		switch op {
		case opAddr, opConst8u, opConst8s:
			push(c.Uint(8))
		case opConst1u:
			push(c.Uint(1))
		case opConst1s:
			push(uint64(c.Sint(1)))
		case opConst2u:
			push(c.Uint(2))
		case opConst2s:
			push(uint64(c.Sint(2)))
		case opConst4u:
			push(c.Uint(4))
		case opConst4s:
			push(uint64(c.Sint(4)))
		case opConstu:
			push(c.ULEB())
		case opConsts:
			push(uint64(c.SLEB()))
		case opDup:
			push(stack[n-1])
		case opDrop:
			stack = stack[:n-1]
		case opOver:
			push(stack[n-2])
		case opPick:
			i := int(c.U8())
			if i >= n {
				return 0, false
			}
			push(stack[n-1-i])
		case opSwap:
			stack[n-1], stack[n-2] = stack[n-2], stack[n-1]
		case opRot:
			stack[n-1], stack[n-2], stack[n-3] = stack[n-2], stack[n-3], stack[n-1]
		case opDeref, opDerefSize:
			size := 8
			if op == opDerefSize {
				size = int(c.U8())
			}
			if stack[n-1], ok = load(mem, stack[n-1], size); !ok {
				return 0, false
			}
		case opPlusUconst:
			stack[n-1] += c.ULEB()
		case opAbs:
			if int64(stack[n-1]) < 0 {
				stack[n-1] = -stack[n-1]
			}
		case opNeg:
			stack[n-1] = -stack[n-1]
		case opNot:
			stack[n-1] = ^stack[n-1]
		case opBra, opSkip:
			to := c.At + 2 + int(c.Sint(2))
			if op == opBra {
				cond := stack[n-1]
				stack = stack[:n-1]
				if cond == 0 {
					continue
				}
			}
			if to < 0 || to > len(expr) {
				return 0, false
			}
			c.At = to
		case opNop:
		default:
			if n < 2 {
				return 0, false
			}
			a, b := stack[n-2], stack[n-1]
			r, ok := binaryOp(op, a, b)
			if !ok {
				return 0, false
			}
			stack = stack[:n-1]
			stack[n-2] = r
		}
		if c.Bad {
			return 0, false
		}
	}
	if len(stack) == 0 {
		return 0, false
	}
	return stack[len(stack)-1], true
}

// operands returns how many values an operation takes off the stack.
func operands(op byte) int {
	switch op {
	case opDup, opDrop, opDeref, opDerefSize, opPlusUconst, opAbs, opNeg, opNot, opBra:
		return 1
	case opOver, opSwap, opAnd, opDiv, opMinus, opMod, opMul, opOr, opPlus, opShl, opShr,
		opShra, opXor,
		opEq, opGe, opGt, opLe, opLt, opNe:
		return 2
	case opRot:
		return 3
	}
	return 0
}

// binaryOp applies an operation of two operands; comparisons and division are of
// signed numbers.
func binaryOp(op byte, a, b uint64) (r uint64, ok bool) {
	truth := func(t bool) (uint64, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case opAnd:
		return a & b, true
	case opDiv:
		if b == 0 {
			return 0, false
		}
		if b == 1<<64-1 {
			return -a, true // the one quotient that may not fit
		}
		return uint64(int64(a) / int64(b)), true
	case opMinus:
		return a - b, true
	case opMod:
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case opMul:
		return a * b, true
	case opOr:
		return a | b, true
	case opPlus:
		return a + b, true
	case opShl:
		return a << b, true // Go's shifts take any count
	case opShr:
		return a >> b, true
	case opShra:
		return uint64(int64(a) >> b), true
	case opXor:
		return a ^ b, true
	case opEq:
		return truth(a == b)
	case opGe:
		return truth(int64(a) >= int64(b))
	case opGt:
		return truth(int64(a) > int64(b))
	case opLe:
		return truth(int64(a) <= int64(b))
	case opLt:
		return truth(int64(a) < int64(b))
	case opNe:
		return truth(a != b)
	}
	return 0, false
}

// Memory returns the word at an address that is a multiple of 8, if it is known.
type Memory func(addr uint64) (word uint64, ok bool)

// load reads 1 to 8 bytes at any address.
func load(mem Memory, addr uint64, size int) (v uint64, ok bool) {
	if mem == nil || size < 1 || size > 8 {
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

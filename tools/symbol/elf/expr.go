package elf

// DWARF expressions: a stack machine over registers and memory. What is said here of a value
// serves call frame information and locations alike; the operations that say where a value lives
// are those of whoever reads locations.
//
// Source: DWARF 5, sections 2.5.1 and 7.7.1.

// An Expr is an expression as it runs. The cursor is in its operations.
type Expr struct {
	Cursor
	Stack []uint64
	// Register returns a register, by DWARF's number, Memory 1 to 8 bytes, if they are known.
	Register func(no uint64) (v uint64, ok bool)
	Memory   func(addr uint64, size int) (v uint64, ok bool)
}

// Operations that compute a value.
const (
	OpAddr       = 0x03
	OpDeref      = 0x06
	OpConst1u    = 0x08 // the next seven: 1, 2, 4 and 8 bytes, each without a sign and with one
	OpConst8s    = 0x0f
	OpConstu     = 0x10
	OpConsts     = 0x11
	OpDup        = 0x12
	OpDrop       = 0x13
	OpOver       = 0x14
	OpPick       = 0x15
	OpSwap       = 0x16
	OpRot        = 0x17
	OpAbs        = 0x19
	OpAnd        = 0x1a
	OpDiv        = 0x1b
	OpMinus      = 0x1c
	OpMod        = 0x1d
	OpMul        = 0x1e
	OpNeg        = 0x1f
	OpNot        = 0x20
	OpOr         = 0x21
	OpPlus       = 0x22
	OpPlusUconst = 0x23
	OpShl        = 0x24
	OpShr        = 0x25
	OpShra       = 0x26
	OpXor        = 0x27
	OpBra        = 0x28
	OpEq         = 0x29
	OpGe         = 0x2a
	OpGt         = 0x2b
	OpLe         = 0x2c
	OpLt         = 0x2d
	OpNe         = 0x2e
	OpSkip       = 0x2f
	OpLit0       = 0x30
	OpLit31      = 0x4f
	OpBreg0      = 0x70
	OpBreg31     = 0x8f
	OpBregx      = 0x92
	OpDerefSize  = 0x94
	OpNop        = 0x96
)

// Push puts values on the stack.
func (e *Expr) Push(v ...uint64) { e.Stack = append(e.Stack, v...) }

// Pop takes a value off the stack; where none is left it returns 0 and sets Bad.
func (e *Expr) Pop() uint64 {
	n := len(e.Stack) - 1
	if n < 0 {
		e.Bad = true
		return 0
	}
	v := e.Stack[n]
	e.Stack = e.Stack[:n]
	return v
}

// Step runs an operation, which has been read. It sets Bad where the expression is damaged, wants a
// register or memory that is not known, or has an operation that computes no value.
func (e *Expr) Step(op byte) {
	v, ok := uint64(0), true
	switch {
	case op == OpAddr:
		e.Push(e.Uint(8))
	case op >= OpConst1u && op <= OpConst8s && op&1 == 0:
		e.Push(e.Uint(1 << ((op - OpConst1u) / 2)))
	case op >= OpConst1u && op <= OpConst8s:
		e.Push(uint64(e.Sint(1 << ((op - OpConst1u) / 2))))
	case op == OpConstu:
		e.Push(e.ULEB())
	case op == OpConsts:
		e.Push(uint64(e.SLEB()))
	case op >= OpLit0 && op <= OpLit31:
		e.Push(uint64(op - OpLit0))
	case op >= OpBreg0 && op <= OpBreg31 || op == OpBregx:
		r := uint64(op - OpBreg0)
		if op == OpBregx {
			r = e.ULEB()
		}
		v, ok = e.Register(r)
		e.Push(v + uint64(e.SLEB()))
	case op == OpDeref || op == OpDerefSize:
		size := 8
		if op == OpDerefSize {
			size = int(e.U8())
		}
		if ok = size >= 1 && size <= 8; ok {
			v, ok = e.Memory(e.Pop(), size)
		}
		e.Push(v)
	case op == OpBra || op == OpSkip:
		to := int(e.Sint(2))
		if to += e.At; op == OpBra && e.Pop() == 0 {
			break
		}
		if ok = to >= 0 && to <= len(e.B); ok {
			e.At = to
		}
	default:
		ok = e.stack(op)
	}
	e.Bad = e.Bad || !ok
}

// stack runs an operation on the stack alone, and reports false if it is none.
func (e *Expr) stack(op byte) bool {
	pick := func(i int) bool {
		at := len(e.Stack) - 1 - i
		if at >= 0 {
			e.Push(e.Stack[at])
		}
		return at >= 0
	}
	switch op {
	case OpNop:
		return true
	case OpDup:
		return pick(0)
	case OpOver:
		return pick(1)
	case OpPick:
		return pick(int(e.U8()))
	}
	b := e.Pop()
	switch op {
	case OpDrop:
		return true
	case OpPlusUconst:
		e.Push(b + e.ULEB())
		return true
	case OpAbs:
		if int64(b) < 0 {
			b = -b
		}
		e.Push(b)
		return true
	case OpNeg:
		e.Push(-b)
		return true
	case OpNot:
		e.Push(^b)
		return true
	}
	a := e.Pop()
	switch op {
	case OpSwap:
		e.Push(b, a)
		return true
	case OpRot:
		e.Push(b, e.Pop(), a)
		return true
	}
	v, ok := binaryOp(op, a, b)
	e.Push(v)
	return ok
}

// binaryOp applies an operation of two operands; comparisons and division are of
// signed numbers.
func binaryOp(op byte, a, b uint64) (r uint64, ok bool) {
	x, y := int64(a), int64(b)
	truth := false
	switch op {
	case OpAnd:
		return a & b, true
	case OpDiv:
		if b == 0 {
			return 0, false
		}
		return uint64(x / y), true
	case OpMinus:
		return a - b, true
	case OpMod:
		if b == 0 {
			return 0, false
		}
		return a % b, true
	case OpMul:
		return a * b, true
	case OpOr:
		return a | b, true
	case OpPlus:
		return a + b, true
	case OpShl:
		return a << b, true // Go's shifts take any count
	case OpShr:
		return a >> b, true
	case OpShra:
		return uint64(x >> b), true
	case OpXor:
		return a ^ b, true
	case OpEq:
		truth = x == y
	case OpGe:
		truth = x >= y
	case OpGt:
		truth = x > y
	case OpLe:
		truth = x <= y
	case OpLt:
		truth = x < y
	case OpNe:
		truth = x != y
	default:
		return 0, false
	}
	if truth {
		return 1, true
	}
	return 0, true
}

package unwind

import "strings"

// Reg is a register by its DWARF number for amd64.
type Reg uint8

// The registers that a row has rules for. RA is the return address, which is in
// no register: it stands for the caller's RIP.
const (
	RAX Reg = iota
	RDX
	RCX
	RBX
	RSI
	RDI
	RBP
	RSP
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	RA

	// NumRegs is the number of registers.
	NumRegs = 17
)

var regNames = [NumRegs]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}

// String returns the register's name: "rax", or "ra" for the return address.
func (r Reg) String() string {
	if int(r) < len(regNames) {
		return regNames[r]
	}
	return "?"
}

// RegNamed returns the register of that name; "rip" is RA.
func RegNamed(name string) (r Reg, ok bool) {
	if strings.EqualFold(name, "rip") {
		return RA, true
	}
	for i, n := range regNames {
		if n == name {
			return Reg(i), true
		}
	}
	return 0, false
}

// kept reports whether a function leaves the register to its caller as it was
// (System V ABI, AMD64 supplement, figure 3.4).
func (r Reg) kept() bool {
	return r == RBX || r == RBP || r >= R12 && r <= R15
}

// RuleKind says how a caller's register is got back.
type RuleKind uint8

const (
	// Unspecified: the row says nothing. A register that functions keep has its
	// value still; any other is lost.
	Unspecified RuleKind = iota
	// Undefined: it is lost.
	Undefined
	// Same: it still has its value.
	Same
	// AtCFA: it is saved at CFA + Off.
	AtCFA
	// CFAPlus: its value is CFA + Off.
	CFAPlus
	// InReg: it is in the register Reg; of a CFA, Reg + Off.
	InReg
	// AtExpr: it is saved at the address that Expr gives.
	AtExpr
	// IsExpr: its value is what Expr gives.
	IsExpr
)

// Rule says how a caller's register, or the CFA, is got back.
type Rule struct {
	Kind RuleKind
	Reg  Reg
	Off  int64
	Expr []byte // a DWARF expression
}

// Source says where rules come from.
type Source uint8

const (
	// Registers: no rule: the registers that the unwinding began with.
	Registers Source = iota
	// PCSP: Go's pc tables.
	PCSP
	// EHFrame and DebugFrame: call frame information of the section .eh_frame or
	// .debug_frame.
	EHFrame
	DebugFrame
	// Prologue: the instructions from the function's start on.
	Prologue
	// Called: a call of what is no code; nothing has run since.
	Called
)

// String returns a word for the source: "registers", "pcsp", "eh_frame",
// "debug_frame", "prologue" or "called".
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "?"
}

var sourceNames = [...]string{
	Registers: "registers", PCSP: "pcsp", EHFrame: "eh_frame", DebugFrame: "debug_frame",
	Prologue: "prologue", Called: "called",
}

// Row holds the rules for the instructions at Start <= pc < End.
type Row struct {
	Start, End uint64
	// CFA is the canonical frame address: what RSP is in the caller, behind its
	// call.
	CFA Rule
	// Regs are the rules of the caller's registers. RSP without a rule is the CFA.
	Regs [NumRegs]Rule
	// Column is the register that holds the return address: RA but for odd code.
	Column Reg
	// ArgsSize is what DW_CFA_GNU_args_size said: bytes of arguments on the stack.
	ArgsSize uint64
	// Signal: the code is that of a signal's return. The address in its caller is
	// exact, no return address.
	Signal bool
	// Exact is set for Go functions that are called as if by the instruction
	// itself: the address in the caller is exact too.
	Exact bool
	// Top is set where a trace is complete: there is no caller.
	Top bool
	// FP is set where RBP must be CFA-16, the address of the frame's own record:
	// in code of Go's compiler that has set up its frame. Another value has been
	// put there by somebody else.
	FP bool
	// Source says where the row comes from.
	Source Source
}

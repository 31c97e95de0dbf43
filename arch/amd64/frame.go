package amd64

import "unsafe"

// Access to a TrapFrame for code that knows no register of this CPU.

// FrameOf returns the TrapFrame that contains the record.
func FrameOf(record uintptr) *TrapFrame {
	return (*TrapFrame)(Pointer(record - unsafe.Offsetof(TrapFrame{}.FP)))
}

// TLSOf returns the address of the word that holds the TLS of the record's TrapFrame.
func TLSOf(record uintptr) uintptr {
	return record - unsafe.Offsetof(TrapFrame{}.FP) + unsafe.Offsetof(TrapFrame{}.TLS)
}

// SyscallSize is the length in bytes of the SYSCALL instruction.
const SyscallSize = 2

// BehindSyscall reports whether the instruction before pc, which must be code, is SYSCALL.
func BehindSyscall(pc uintptr) bool { return *(*uint16)(Pointer(pc - SyscallSize)) == 0x050f }

// CallNumber returns the number of f's system call.
func (f *TrapFrame) CallNumber() uintptr { return f.AX }

// CallArgs returns the arguments of f's system call (System V ABI, A.2.1).
func (f *TrapFrame) CallArgs() (a, b, c, d, e, g uintptr) {
	return f.DI, f.SI, f.DX, f.R10, f.R8, f.R9
}

// Advance advances the second and the third argument of a system call, a buffer and its length, by
// n bytes.
func (f *TrapFrame) Advance(n uintptr) {
	f.SI += n
	f.DX -= n
}

// SetResult sets what the system call returns.
func (f *TrapFrame) SetResult(v uintptr) { f.AX = v }

// Result returns the value that SetResult set.
func (f *TrapFrame) Result() uintptr { return f.AX }

// Restart makes the system call of that number start over.
func (f *TrapFrame) Restart(number uintptr) {
	f.AX = number
	f.PC -= SyscallSize
}

// InitThread fills in what a new thread's frame needs besides PC and SP.
func (f *TrapFrame) InitThread() {
	f.CS, f.SS = selCode, selData
	f.RFLAGS = FlagInterrupt | FlagsFixed
	f.Mark = TrapMark
}

// flagTrap is RFLAGS.TF.
const flagTrap = 1 << 8

// BeginStep makes the interrupted code run one instruction, with interrupts off, and then raise the
// debug exception. It returns the argument of EndStep.
func (f *TrapFrame) BeginStep() (flags uintptr) {
	flags = f.RFLAGS & (flagTrap | FlagInterrupt)
	f.RFLAGS = f.RFLAGS&^(flagTrap|FlagInterrupt) | flagTrap
	return flags
}

// EndStep undoes BeginStep.
func (f *TrapFrame) EndStep(flags uintptr) {
	f.RFLAGS = f.RFLAGS&^(flagTrap|FlagInterrupt) | flags
}

// BreakpointCode is the instruction of a breakpoint, BreakpointSize its length, which is how far
// the trap's pc is after it.
const (
	BreakpointCode = 0xcc
	BreakpointSize = 1
)

// PushFP does what PUSHQ BP does, without moving the pc. It returns false if the stack cannot be
// written to.
func (f *TrapFrame) PushFP() bool {
	if !StoreUser64(f.SP-8, uint64(f.FP)) {
		return false
	}
	f.SP -= 8
	return true
}

// Return does what RET does. It returns false if the stack cannot be read.
func (f *TrapFrame) Return() bool {
	ra, ok := LoadUser64(f.SP)
	if !ok {
		return false
	}
	f.SP += 8
	f.PC = uintptr(ra)
	return true
}

// PatchCode writes a byte of the text, which is otherwise read-only.
func PatchCode(addr uintptr, b byte) {
	cr0 := ReadCR0()
	WriteCR0(cr0 &^ CR0WriteProtect)
	*(*byte)(Pointer(addr)) = b
	patchKept(addr, b)
	WriteCR0(cr0)
}

// Registers by their numbers in a trace (tracer.AMD64).
const (
	RegisterPC    = 0
	RegisterSP    = 1
	RegisterFP    = 2
	regAX         = 4
	regCX         = 6
	regR15        = 17
	regCR2        = 18
	RegisterSpace = 19 // the root of the page tables
)

// Registers fills in the known registers, by their numbers in a trace (tracer.AMD64); bit n of have
// says that number n is known.
func (f *TrapFrame) Registers(to []uintptr) (have uint64) {
	for i, v := range [...]uintptr{f.PC, f.SP, f.FP, f.RFLAGS, f.AX, f.BX, f.CX, f.DX, f.SI, f.DI,
		f.R8, f.R9, f.R10, f.R11, f.R12, f.R13, f.R14, f.R15, f.Addr, ReadCR3()} {
		to[i] = v
		have |= 1 << i
	}
	if f.Trap != VectorPF {
		have &^= 1 << regCR2
	}
	return have
}

// IsPoisoned reports whether a trap with these registers, of this kind and error code, can be
// an access to the fake g's m.
func IsPoisoned(trap, code uint32, registers []uintptr) bool {
	if trap != VectorGP && trap != VectorSS || code != 0 {
		return false
	}
	for _, v := range registers[regAX : regR15+1] {
		if v == PoisonM {
			return true
		}
	}
	return false
}

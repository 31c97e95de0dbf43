package amd64

import "unsafe"

// What is asked of a TrapFrame by code that knows no register of this CPU.

// FrameOf returns the TrapFrame of which the record is a part.
func FrameOf(record uintptr) *TrapFrame {
	return (*TrapFrame)(Pointer(record - unsafe.Offsetof(TrapFrame{}.FP)))
}

// TLSOf returns the address of the word that holds the TLS of the record's TrapFrame.
func TLSOf(record uintptr) uintptr {
	return record - unsafe.Offsetof(TrapFrame{}.FP) + unsafe.Offsetof(TrapFrame{}.TLS)
}

// SyscallSize is the length in bytes of the SYSCALL instruction.
const SyscallSize = 2

// BehindSyscall reports whether the instruction before pc, which is code, is SYSCALL.
func BehindSyscall(pc uintptr) bool { return *(*uint16)(Pointer(pc - SyscallSize)) == 0x050f }

// CallNumber returns the number of the system call that f is of.
func (f *TrapFrame) CallNumber() uintptr { return f.AX }

// CallArgs returns the arguments of the system call that f is of (System V ABI, A.2.1).
func (f *TrapFrame) CallArgs() (a, b, c, d, e, g uintptr) {
	return f.DI, f.SI, f.DX, f.R10, f.R8, f.R9
}

// Advance moves the second and the third argument of a system call, a buffer and its
// length, on by n bytes.
func (f *TrapFrame) Advance(n uintptr) {
	f.SI += n
	f.DX -= n
}

// SetResult sets what the system call returns.
func (f *TrapFrame) SetResult(v uintptr) { f.AX = v }

// Result returns what SetResult has set.
func (f *TrapFrame) Result() uintptr { return f.AX }

// Restart makes the system call of that number start over.
func (f *TrapFrame) Restart(number uintptr) {
	f.AX = number
	f.PC -= SyscallSize
}

// InitThread fills what a new thread's frame must have beside PC and SP.
func (f *TrapFrame) InitThread() {
	f.CS, f.SS = selCode, selData
	f.RFLAGS = FlagInterrupt | FlagsFixed
	f.Mark = TrapMark
}

// flagTrap is RFLAGS.TF.
const flagTrap = 1 << 8

// BeginStep makes the code that f has interrupted run one instruction, with interrupts off,
// and raise the debug exception. It returns what EndStep takes.
func (f *TrapFrame) BeginStep() (flags uintptr) {
	flags = f.RFLAGS & (flagTrap | FlagInterrupt)
	f.RFLAGS = f.RFLAGS&^(flagTrap|FlagInterrupt) | flagTrap
	return flags
}

// EndStep undoes BeginStep.
func (f *TrapFrame) EndStep(flags uintptr) {
	f.RFLAGS = f.RFLAGS&^(flagTrap|FlagInterrupt) | flags
}

// BreakpointCode is the instruction of a breakpoint, BreakpointSize its length: that far
// behind it the pc of its trap is.
const (
	BreakpointCode = 0xcc
	BreakpointSize = 1
)

// PushFP does what PUSHQ BP does but for the pc. It returns false if the stack cannot be
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

// PatchCode writes a byte of the text, which is read-only for all else.
func PatchCode(addr uintptr, b byte) {
	cr0 := ReadCR0()
	WriteCR0(cr0 &^ CR0WriteProtect)
	*(*byte)(Pointer(addr)) = b
	patchKept(addr, b)
	WriteCR0(cr0)
}

// Registers as a trace numbers them (tracer.AMD64).
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

// Registers fills in what is known of the registers, by their numbers in a trace
// (tracer.AMD64); bit n of have says that number n is.
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

package amd64

import "unsafe"

// The CPU's part of what Linux puts on a thread's stack for a signal
// (arch/x86/include/uapi/asm/sigcontext.h).

// RedZone is the number of bytes below its stack pointer that a function may use.
const RedZone = 128

// SignalContext is struct sigcontext.
type SignalContext struct {
	r8, r9, r10, r11   uintptr
	r12, r13, r14, r15 uintptr
	di, si, bp, bx     uintptr
	dx, ax, cx, sp, ip uintptr
	eflags, segments   uintptr
	Error, Trap        uintptr
	Mask               uintptr
	Addr               uintptr // cr2
	FPU                uintptr // address of the save area
	_                  [8]uint64
}

// ContextRegisters is the number of words at the start of a SignalContext that are registers. The
// stack pointer and the pc are the last of them.
const ContextRegisters = 17

// Argument returns the register in which Go passes argument i, if that is an integer or a pointer;
// 0 from 9 on.
func (c *SignalContext) Argument(i int) uintptr {
	all := [...]uintptr{c.ax, c.bx, c.cx, c.di, c.si, c.r8, c.r9, c.r10, c.r11}
	if uint(i) >= uint(len(all)) {
		return 0
	}
	return all[i]
}

// Save copies the registers of f.
func (c *SignalContext) Save(f *TrapFrame) {
	c.r8, c.r9, c.r10, c.r11 = f.R8, f.R9, f.R10, f.R11
	c.r12, c.r13, c.r14, c.r15 = f.R12, f.R13, f.R14, f.R15
	c.di, c.si, c.bp, c.bx = f.DI, f.SI, f.FP, f.BX
	c.dx, c.ax, c.cx, c.sp, c.ip = f.DX, f.AX, f.CX, f.SP, f.PC
	c.eflags, c.segments = f.RFLAGS, f.CS|f.SS<<48
}

// Load sets the registers of f, as far as a program may. It returns false if execution cannot
// continue at the new pc, because IRETQ would fault in the kernel.
func (c *SignalContext) Load(f *TrapFrame) bool {
	const userFlags = 0x40dd5 // the bits of RFLAGS that a program may set
	f.R8, f.R9, f.R10, f.R11 = c.r8, c.r9, c.r10, c.r11
	f.R12, f.R13, f.R14, f.R15 = c.r12, c.r13, c.r14, c.r15
	f.DI, f.SI, f.FP, f.BX = c.di, c.si, c.bp, c.bx
	f.DX, f.AX, f.CX, f.SP, f.PC = c.dx, c.ax, c.cx, c.sp, c.ip
	f.RFLAGS = c.eflags&userFlags | FlagInterrupt | FlagsFixed
	return f.PC < 1<<47
}

// RecordSize is the size in bytes of a trap record.
const RecordSize = recordSize

// Record is a trap record: the part of a TrapFrame that the tracer knows.
type Record [recordSize / 8]uintptr

// MakeRecord returns the record of f with another trap and error code.
func (f *TrapFrame) MakeRecord(trap, code uintptr) Record {
	return Record{f.FP, TrapMark, trap, code, f.PC, f.CS, f.RFLAGS, f.SP, f.SS}
}

// CallHandler makes f continue in a signal's handler, with three arguments, on the stack at sp,
// where the return address is, and with the record as its frame.
func (f *TrapFrame) CallHandler(handler, sp, record, signal, info, context uintptr) {
	const direction = 1 << 10
	f.RFLAGS &^= direction | flagTrap
	f.PC, f.SP, f.FP = handler, sp, record
	f.DI, f.SI, f.DX, f.AX = signal, info, context, 0
}

const _ = -(unsafe.Sizeof(SignalContext{}) ^ 256)

#include "textflag.h"
#include "go_asm.h"

// Into the kernel by SYSCALL, and out of it to a thread.

// SETFS sets the FS base to AX; it uses CX and DX.
#define SETFS(slow, done) \
	CMPL	·hasFSGSBASE(SB), $0; \
	JEQ	slow; \
	BYTE $0xf3; BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0xd0; /* WRFSBASE AX */ \
	JMP	done; \
slow: \
	MOVQ	AX, DX; \
	SHRQ	$32, DX; \
	MOVL	$const_MSRFSBase, CX; \
	WRMSR; \
done:

// syscallEntry: RCX is the thread's RIP, R11 its RFLAGS, and RSP and all others are still the
// thread's. It makes a TrapFrame at the top of the kernel stack, as a trap would:
//
//	SS        <- top of the kernel stack
//	RSP
//	RFLAGS
//	CS
//	RIP
//	error     the system call's number
//	vector    VectorSyscall
//	TrapMark
//	BP        <- BP: the record that the handler's frame pointer leads to
//	AX BX CX DX SI DI R8 ... R15
//	0         (CR2)
//	FS base
//	0         <- the TrapFrame that the handler gets (guard)
//	16 bytes for the handler's arguments
//
// The FPU's registers are not saved: the ABI gives them to the callee, and Go's system call
// functions are calls. The kernel leaves X15 zero, as Go requires.

// func syscallEntry()
TEXT ·syscallEntry(SB), NOSPLIT|NOFRAME, $0
	CMPL	CPU_call(GS), $const_callReady
	JNE	nested
	MOVL	$0, CPU_call(GS)
	MOVQ	SP, CPU_userSP(GS)
	MOVQ	CPU_syscallTop(GS), SP
	PUSHQ	$const_selData
	PUSHQ	CPU_userSP(GS)
	PUSHQ	R11
	PUSHQ	$const_selCode
	PUSHQ	CX
	PUSHQ	AX
	PUSHQ	$const_VectorSyscall
	PUSHQ	·trapMark(SB)
	PUSHQ	BP
	MOVQ	SP, BP
	PUSHQ	AX
	PUSHQ	BX
	PUSHQ	CX
	PUSHQ	DX
	PUSHQ	SI
	PUSHQ	DI
	PUSHQ	R8
	PUSHQ	R9
	PUSHQ	R10
	PUSHQ	R11
	PUSHQ	R12
	PUSHQ	R13
	PUSHQ	R14
	PUSHQ	R15
	PUSHQ	$0
	PUSHQ	CPU_userFS(GS)
	PUSHQ	$0
	MOVQ	SP, DI
	SUBQ	$16, SP

	MOVQ	CPU_self(GS), BX
	LEAQ	CPU_g(BX), R14
	LEAQ	(CPU_tls+8)(BX), AX
	MOVQ	R14, -8(AX)
	SETFS(slowin, fsin)
	MOVQ	CPU_syscallGuard(BX), AX
	MOVQ	AX, (const_gStackGuard0*8)(R14)
	MOVQ	AX, (const_gStackGuard1*8)(R14)
	XORPS	X15, X15
	MOVQ	DI, AX
	MOVQ	·syscallHandler(SB), CX
	CALL	CX

	LEAQ	-(16*8)(BP), SP
	POPQ	AX
	SETFS(slowout, fsout)
	ADDQ	$8, SP			// CR2
	POPQ	R15
	POPQ	R14
	POPQ	R13
	POPQ	R12
	POPQ	R11
	POPQ	R10
	POPQ	R9
	POPQ	R8
	POPQ	DI
	POPQ	SI
	POPQ	DX
	POPQ	CX
	POPQ	BX
	POPQ	AX
	MOVL	$const_callReady, CPU_call(GS)
	JMP	·trapLeave(SB)

nested:
	// Kernel code has strayed into a function that makes a system call. There is no handler for
	// that: it is a fault of the kernel. Or GS is wrong (see Repaired).
	UNDEF

// func resume(f *TrapFrame, fpu uintptr, control uint64)
//
// The stack pointer goes to the TrapFrame itself, wherever it lies, and moves up through it; IRETQ
// then takes the last five words. Interrupts are off, and an NMI has a stack of its own.
TEXT ·resume(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	f+0(FP), BX
	MOVQ	fpu+8(FP), DI
	TESTQ	DI, DI
	JEQ	control
	CMPL	·xsaveMask(SB), $0
	JEQ	fx
	MOVL	·xsaveMask(SB), AX
	MOVL	$0, DX
	XRSTOR64	(DI)
	JMP	regs
fx:
	FXRSTOR64	(DI)
	JMP	regs
control:
	LEAQ	control+16(FP), AX
	LDMXCSR	(AX)
	FLDCW	4(AX)
	XORPS	X15, X15
regs:
	MOVL	$0, CPU_depth(GS)	// drops the traps that end here instead of returning
	MOVQ	BX, SP
	ADDQ	$8, SP			// guard
	POPQ	AX
	SETFS(slow, done)
	POPQ	AX
	MOVQ	AX, CR2
	POPQ	R15
	POPQ	R14
	POPQ	R13
	POPQ	R12
	POPQ	R11
	POPQ	R10
	POPQ	R9
	POPQ	R8
	POPQ	DI
	POPQ	SI
	POPQ	DX
	POPQ	CX
	POPQ	BX
	POPQ	AX
	MOVL	$const_callReady, CPU_call(GS)
	JMP	·trapLeave(SB)

// func entryCode() (enter, resume, hi uintptr)
//
// The text of a package is laid out in the order of its files and their functions.
TEXT ·entryCode(SB), NOSPLIT|NOFRAME, $0-24
	LEAQ	·syscallEntry(SB), AX
	MOVQ	AX, enter+0(FP)
	LEAQ	·resume(SB), AX
	MOVQ	AX, resume+8(FP)
	LEAQ	·entryCode(SB), AX
	MOVQ	AX, hi+16(FP)
	RET

// func WaitForInterrupt()
//
// STI takes effect after the next instruction, so no interrupt comes between it and HLT (SDM Vol.
// 2B, STI).
TEXT ·WaitForInterrupt(SB), NOSPLIT|NOFRAME, $0-0
	STI
	HLT
	CLI
	RET

// func haltAt() uintptr
//
// The address of the HLT above, after STI, which is one byte.
TEXT ·haltAt(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·WaitForInterrupt+1(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

#include "textflag.h"
#include "go_asm.h"

// BRANCHES turns recording of branches on or off (branch.go), by value. It uses AX, CX and DX.
#define BRANCHES(value) \
	MOVL	·branchMSR(SB), CX; \
	MOVL	value(SB), AX; \
	MOVL	value+4(SB), DX; \
	WRMSR

// From an interrupt gate to the kernel's Go handler and back. Every gate has an IST slot, so the
// CPU has switched to that stack and pushed SS, RSP, RFLAGS, CS and RIP there, whatever state the
// interrupted stack was in. The stub in vectors_amd64.s has pushed the error code (0 if there is
// none) and the vector.
//
// trapEntry makes the rest of a TrapFrame:
//
//	landing   what a trap inside this one needs (see trap.go), up to the top of the IST stack
//	SS
//	RSP
//	RFLAGS
//	CS
//	RIP
//	error
//	vector    <- SP at entry
//	TrapMark
//	BP        <- BP: the record that the handler's frame pointer leads to
//	AX BX CX DX SI DI R8 ... R15
//	CR2
//	FS base
//	guard     <- the TrapFrame that the handler gets
//	(to 16)
//	FXSAVE area, 512 bytes
//	16 bytes for the handler's argument

// func trapEntry()
TEXT ·trapEntry(SB), NOSPLIT|NOFRAME, $0
	CMPQ	(const_gateSize+landing_ss)(SP), $const_selData
	JNE	free

	// A trap is already being handled on this stack: the CPU has written the new trap's words over
	// the old one's. They are moved below what was interrupted, if that is on this stack, with a
	// landing of their own, and the old words are restored. So the old trap's handler can go on,
	// and a walk gets past it. If the handler has gone to another stack, its depth here is not
	// known, so the words go to the middle. They stay where they are if the handler will not
	// return, because the kernel has resumed a thread, or has run out of its stack.
	//
	// Up to the push of the mark, SP leads to the words from the vector up, wherever they are.
	MOVQ	AX, (const_gateSize+landing_ax)(SP)
	MOVQ	BX, (const_gateSize+landing_bx)(SP)
	MOVQ	CX, (const_gateSize+landing_cx)(SP)
	BYTE	$0x0f; BYTE $0x01; BYTE $0x44; BYTE $0x24; BYTE $(const_gateSize+landing_gdt+6)	// SGDT: limit, base
	MOVQ	(const_gateSize+landing_gdt+8)(SP), CX
	MOVQ	(tables_cpu-tables_gdt)(CX), AX
	CMPL	CPU_depth(AX), $0
	MOVQ	SP, BX			// where the words are
	MOVQ	SP, AX			// where they belong
	JEQ	move

	MOVQ	(tables_cpu-tables_gdt)(CX), CX
	LEAQ	·vectorIST(SB), AX
	ADDQ	0(BX), AX		// vector
	MOVBLZX	(AX), AX
	MOVQ	CPU_istGuard(CX)(AX*8), AX
	SUBQ	$const_StackGuard, AX
	MOVQ	AX, (const_gateSize+landing_lo)(BX)

	// From here on AX and CX count from the lowest address of the stack.
	MOVQ	40(BX), AX		// RSP
	SUBQ	(const_gateSize+landing_lo)(BX), AX
	CMPQ	AX, $-const_PageSize
	JCC	stay			// in the guard page
	MOVQ	BX, CX
	SUBQ	(const_gateSize+landing_lo)(BX), CX
	CMPQ	AX, CX
	JCS	below
	MOVQ	CX, AX
	SHRQ	$1, AX
below:
	ANDQ	$~15, AX
	SUBQ	$(landing__size+const_gateSize), AX
	CMPQ	AX, $const_nestedRoom
	JLT	stay
	ADDQ	(const_gateSize+landing_lo)(BX), AX
	MOVQ	0(BX), CX
	MOVQ	CX, 0(AX)
	MOVQ	8(BX), CX
	MOVQ	CX, 8(AX)
	MOVQ	16(BX), CX
	MOVQ	CX, 16(AX)
	MOVQ	24(BX), CX
	MOVQ	CX, 24(AX)
	MOVQ	32(BX), CX
	MOVQ	CX, 32(AX)
	MOVQ	40(BX), CX
	MOVQ	CX, 40(AX)
	MOVQ	48(BX), CX
	MOVQ	CX, 48(AX)
	JMP	move
stay:
	MOVQ	BX, AX
move:
	MOVQ	AX, SP
	CMPQ	AX, BX
	JEQ	moved
	MOVQ	·trapMark(SB), CX
	MOVQ	CX, -8(BX)
	MOVQ	(const_gateSize+landing_vector)(BX), CX
	MOVQ	CX, 0(BX)
	MOVQ	(const_gateSize+landing_error)(BX), CX
	MOVQ	CX, 8(BX)
	MOVQ	(const_gateSize+landing_pc)(BX), CX
	MOVQ	CX, 16(BX)
	MOVQ	(const_gateSize+landing_cs)(BX), CX
	MOVQ	CX, 24(BX)
	MOVQ	(const_gateSize+landing_flags)(BX), CX
	MOVQ	CX, 32(BX)
	MOVQ	(const_gateSize+landing_sp)(BX), CX
	MOVQ	CX, 40(BX)
	MOVQ	(const_gateSize+landing_ss)(BX), CX
	MOVQ	CX, 48(BX)
moved:
	MOVQ	$0, (const_gateSize+landing_ss)(SP)
	MOVQ	(const_gateSize+landing_cx)(BX), CX
	MOVQ	(const_gateSize+landing_ax)(BX), AX
	MOVQ	(const_gateSize+landing_bx)(BX), BX
free:
	PUSHQ	·trapMark(SB)		// 6
	PUSHQ	BP			// 1
	MOVQ	SP, BP			// 3
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
	MOVQ	CR2, AX
	PUSHQ	AX

	// The CPU's record, through the memory after the GDT. GS may be the program's (see percpu.go),
	// and is set below.
	SUBQ	$16, SP
	BYTE	$0x0f; BYTE $0x01; BYTE $0x44; BYTE $0x24; BYTE $0x06	// SGDT 6(SP): limit, base
	MOVQ	8(SP), R13		// it stays there until the handler is called
	ADDQ	$16, SP
	MOVQ	(tables_cpu-tables_gdt)(R13), SI
	MOVQ	SI, CPU_self(SI)

	// Up to here only the stub and a jump or two have replaced the program's branches.
	CMPL	CPU_branches(SI), $const_branchesOn
	JNE	unrecorded
	CMPQ	16(BP), $const_VectorIRQ
	JCC	unrecorded
	MOVL	$const_branchesHeld, CPU_branches(SI)
	BRANCHES(·branchOff)
unrecorded:
	INCL	CPU_depth(SI)
	CMPL	CPU_depth(SI), $const_mostDepth
	JLS	sound
	CALL	·tooDeep(SB)
sound:
	CMPQ	16(BP), $const_VectorUD
	JNE	known
	PUSHQ	SI
	CALL	·restore(SB)		// the invalid opcode may be in the kernel's code
	POPQ	SI
known:

	// FS and the g of the interrupted code are not the kernel's.
	CMPL	·hasFSGSBASE(SB), $0
	JEQ	readslow
	BYTE	$0xf3; BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0xc0	// RDFSBASE AX
	JMP	read
readslow:
	MOVL	$const_MSRFSBase, CX
	RDMSR
	SHLQ	$32, DX
	ORQ	DX, AX
read:
	PUSHQ	AX

	MOVQ	(CPU_g+const_gStackGuard0*8)(SI), DI
	PUSHQ	DI
	LEAQ	CPU_g(SI), R14
	MOVQ	R14, CPU_tls(SI)
	LEAQ	(CPU_tls+8)(SI), AX
	CMPL	·hasFSGSBASE(SB), $0
	JEQ	enterslow
	BYTE	$0xf3; BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0xd0	// WRFSBASE AX
	BYTE	$0xf3; BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0xde	// WRGSBASE SI
	JMP	enter
enterslow:
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$const_MSRFSBase, CX
	WRMSR
	MOVQ	SI, AX
	MOVQ	SI, DX
	SHRQ	$32, DX
	MOVL	$const_MSRGSBase, CX
	WRMSR
enter:

	// The guard of the stack that this vector runs on.
	MOVQ	16(BP), BX		// vector
	MOVQ	BX, (const_recordSize+landing_vector)(BP)
	LEAQ	·vectorIST(SB), DX
	MOVBLZX	(DX)(BX*1), BX
	MOVQ	CPU_istGuard(SI)(BX*8), AX
	MOVQ	AX, (const_gStackGuard0*8)(R14)
	MOVQ	AX, (const_gStackGuard1*8)(R14)

	MOVQ	SP, AX			// the TrapFrame
	ANDQ	$~15, SP
	SUBQ	$(512+16), SP
	FXSAVE64 16(SP)

	// What the CPU pushed, for a trap inside this one; SS, which marks it as valid, comes last.
	MOVUPS	24(BP), X0
	MOVUPS	X0, (const_recordSize+landing_error)(BP)
	MOVUPS	40(BP), X0
	MOVUPS	X0, (const_recordSize+landing_cs)(BP)
	MOVUPS	56(BP), X0
	MOVUPS	X0, (const_recordSize+landing_sp)(BP)
	XORPS	X15, X15
	CLD
	MOVQ	(tables_handler-tables_gdt)(R13), CX
	CALL	CX
	FXRSTOR64 16(SP)

	// A fixed-up load continues without IRETQ (see Resume): by a RET to the address that is put on
	// the interrupted stack here, below RSP, where nothing is.
	CMPQ	40(BP), $0		// CS
	JNE	undo
	MOVQ	56(BP), AX		// RSP
	MOVQ	32(BP), CX		// RIP
	MOVQ	CX, -8(AX)

undo:
	// Undo, from the bottom. BP is as it was at the call.
	MOVQ	$0, (const_recordSize+landing_ss)(BP)
	LEAQ	-(17*8)(BP), SP
	DECL	CPU_depth(GS)
	JNE	inside
	CMPL	CPU_branches(GS), $const_branchesHeld
	JNE	inside
	BRANCHES(·branchOn)
	MOVL	$const_branchesOn, CPU_branches(GS)	// after it, because of an NMI in between
inside:
	POPQ	DI			// guard
	MOVQ	DI, (CPU_g+const_gStackGuard0*8)(GS)
	MOVQ	DI, (CPU_g+const_gStackGuard1*8)(GS)
	POPQ	AX			// FS base
	CMPL	·hasFSGSBASE(SB), $0
	JEQ	leaveslow
	BYTE	$0xf3; BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0xd0	// WRFSBASE AX
	JMP	leave
leaveslow:
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$const_MSRFSBase, CX
	WRMSR
leave:
	POPQ	AX			// CR2: the interrupted code may be about to read it
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
	CMPQ	40(SP), $0		// CS
	JEQ	plain
	JMP	·trapLeave(SB)
plain:
	JMP	·trapReturn(SB)

// trapLeave takes the record down. It is a separate function so that AtEntry knows its
// instructions: an NMI may strike between any two.
//
//	+0	5D			POPQ BP
//	+1	48 83 C4 18		ADDQ $24, SP
//	+5	48 CF			IRETQ
TEXT ·trapLeave(SB), NOSPLIT|NOFRAME, $0
	POPQ	BP
	ADDQ	$24, SP			// TrapMark, vector, error
	IRETQ

// trapReturn does it without IRETQ. The word with RIP, which trapEntry put below the interrupted
// stack, counts only from the last instruction but one on.
//
//	+0	5D			POPQ BP
//	+1	48 83 C4 18		ADDQ $24, SP
//	+5	48 83 6C 24 18 08	SUBQ $8, 24(SP)
//	+11	48 8B 64 24 18		MOVQ 24(SP), SP
//	+16	C3			RET
TEXT ·trapReturn(SB), NOSPLIT|NOFRAME, $0
	POPQ	BP
	ADDQ	$24, SP			// TrapMark, vector, error
	SUBQ	$8, 24(SP)
	MOVQ	24(SP), SP
	BYTE	$0xc3			// RET (the assembler would count the pops)

// func nmiEntry()
//
// CLI does not block an NMI. While a trace is written, NMIs are counted and dropped here; the panic
// stages have given them another stack for that, because the NMI's own stack may hold what the
// trace is about.
//
//	+0	83 3D rel32 00		CMPL
//	+7	75 05			JNE
//	+9	E9 rel32		JMP
//	+14	FF 05 rel32		INCL
//	+20	48 83 C4 10		ADDQ $16, SP
//	+24	48 CF			IRETQ
TEXT ·nmiEntry(SB), NOSPLIT|NOFRAME, $0
	CMPL	·nmiOff(SB), $0
	JNE	drop
	JMP	·trapEntry(SB)
drop:
	INCL	·nmiDropped(SB)
	ADDQ	$16, SP			// vector, error
	IRETQ

// func fpuEntry()
//
// #UD and #NM may come from the entry code itself, if somebody has changed a control register:
// the FPU's instructions below would cause them again. So the registers are corrected first.
//
//	+0	50			PUSHQ AX
//	...
//	+26	58			POPQ AX
//	+27	E9 rel32		JMP
TEXT ·fpuEntry(SB), NOSPLIT|NOFRAME, $0
	PUSHQ	AX
	MOVQ	·rightCR4(SB), AX
	TESTQ	AX, AX
	JEQ	cr0			// not set yet
	MOVQ	AX, CR4
cr0:
	MOVQ	CR0, AX
	ANDQ	$~(1<<2 | 1<<3), AX	// EM, TS
	MOVQ	AX, CR0
	POPQ	AX
	JMP	·trapEntry(SB)

// func entryAddrs() (vectors, entry, leave, ret, nmi, fpu uintptr)
TEXT ·entryAddrs(SB), NOSPLIT|NOFRAME, $0-48
	LEAQ	·vectors(SB), AX
	MOVQ	AX, vectors+0(FP)
	LEAQ	·trapEntry(SB), AX
	MOVQ	AX, entry+8(FP)
	LEAQ	·trapLeave(SB), AX
	MOVQ	AX, leave+16(FP)
	LEAQ	·trapReturn(SB), AX
	MOVQ	AX, ret+24(FP)
	LEAQ	·nmiEntry(SB), AX
	MOVQ	AX, nmi+32(FP)
	LEAQ	·fpuEntry(SB), AX
	MOVQ	AX, fpu+40(FP)
	RET

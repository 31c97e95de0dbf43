#include "textflag.h"
#include "go_asm.h"

// Traps: 32 stubs of 12 bytes, one for each vector. Each leaves an error code, 0 if the CPU
// pushes none, and its vector.
#define V(n) BYTE $0x6a; BYTE $0; BYTE $0x68; LONG $(n); JMP ·trapEntry(SB)
#define E(n) BYTE $0x68; LONG $(n); JMP ·trapEntry(SB); BYTE $0x90; BYTE $0x90

TEXT ·vectors(SB), NOSPLIT|NOFRAME, $0
	V(0); V(1); V(2); V(3); V(4); V(5); V(6); V(7)
	E(8); V(9); E(10); E(11); E(12); E(13); E(14); V(15)
	V(16); E(17); V(18); V(19); V(20); E(21); V(22); V(23)
	V(24); V(25); V(26); V(27); V(28); E(29); E(30); V(31)

// trapEntry makes the trap record that a walk knows (tracer/walk.go), and a trapFrame from
// it. All traps run on the stack "trap", which the CPU has switched to:
//
//	SS  RSP  RFLAGS  CS  RIP
//	error
//	vector    <- SP at entry
//	tracer.TrapMark
//	BP        <- BP: the record
//	AX BX CX DX SI DI R8 ... R15
//	CR2       <- the trapFrame
//	guard     of the interrupted stack
//	(to 16)
//	FXSAVE area, 512 bytes
//	16 bytes for the argument
TEXT ·trapEntry(SB), NOSPLIT|NOFRAME, $0
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
	MOVQ	CR2, AX
	PUSHQ	AX
	MOVQ	SP, AX
	LEAQ	·fakeG(SB), R14
	PUSHQ	(const_gStackGuard0*8)(R14)
	LEAQ	·trapStack+const_stackGuard(SB), CX
	MOVQ	CX, (const_gStackGuard0*8)(R14)
	MOVQ	CX, (const_gStackGuard1*8)(R14)
	ANDQ	$~15, SP
	SUBQ	$(512+16), SP
	FXSAVE64 16(SP)
	CLD
	MOVQ	AX, (SP)
	CALL	·trap(SB)
	FXRSTOR64 16(SP)

	// Undo, from the bottom.
	LEAQ	-(16*8)(BP), SP
	POPQ	AX
	MOVQ	AX, ·fakeG+(const_gStackGuard0*8)(SB)
	MOVQ	AX, ·fakeG+(const_gStackGuard1*8)(SB)
	ADDQ	$8, SP
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
	POPQ	BP
	ADDQ	$24, SP			// mark, vector, error
	IRETQ

// func vectorsAddr() uintptr
TEXT ·vectorsAddr(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·vectors(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func loadTables(idt, idtSize uintptr)
TEXT ·loadTables(SB), NOSPLIT, $16-16
	MOVQ	idt+0(FP), AX
	MOVQ	idtSize+8(FP), CX
	SUBQ	$1, CX
	MOVW	CX, 6(SP)
	MOVQ	AX, 8(SP)
	LIDT	6(SP)
	MOVL	$0x18, AX
	LTR	AX
	RET

// func bounds() (textLo, textHi, tableLo, tableHi uintptr)
TEXT ·bounds(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	runtime·text(SB), AX
	MOVQ	AX, textLo+0(FP)
	LEAQ	runtime·etext(SB), AX
	MOVQ	AX, textHi+8(FP)
	LEAQ	runtime·pclntab(SB), AX
	MOVQ	AX, tableLo+16(FP)
	LEAQ	runtime·epclntab(SB), AX
	MOVQ	AX, tableHi+24(FP)
	RET

// func in(port uint16) byte
TEXT ·in(SB), NOSPLIT|NOFRAME, $0-9
	MOVW	port+0(FP), DX
	INB
	MOVB	AX, ret+8(FP)
	RET

// func out(port uint16, value byte)
TEXT ·out(SB), NOSPLIT|NOFRAME, $0-3
	MOVW	port+0(FP), DX
	MOVB	value+2(FP), AX
	OUTB
	RET

// func halt()
TEXT ·halt(SB), NOSPLIT|NOFRAME, $0
	HLT
	JMP	-1(PC)

// func leaf(p uintptr)
//
// leaf faults where it has no frame record: only the pc tables lead to its caller.
TEXT ·leaf(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	p+0(FP), AX
	PUSHQ	AX
	MOVQ	(AX), AX
	POPQ	AX
	RET

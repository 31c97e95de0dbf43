#include "textflag.h"
#include "go_asm.h"

// func onStack(top, f, arg uintptr)
//
// The new stack, from top down: a trap record (see the tracer's walk.go).
//
//	0              SS
//	caller's SP    RSP after this function returns
//	0              RFLAGS
//	0              CS
//	caller's pc    RIP: the return address
//	0              error
//	VectorCall     vector
//	TrapMark
//	BP             <- BP
//	16 bytes for f's argument
TEXT ·onStack(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	top+0(FP), AX
	MOVQ	f+8(FP), DX
	MOVQ	arg+16(FP), BX
	MOVQ	(SP), SI
	LEAQ	8(SP), DI
	// Stores, not pushes: the assembler counts pushes, and the count means nothing on a new stack.
	// The record is complete before SP leads to it, so a trap between the changes of SP and BP
	// finds it (see AtEntry).
	MOVQ	$0, -8(AX)
	MOVQ	DI, -16(AX)
	MOVQ	$0, -24(AX)
	MOVQ	$0, -32(AX)
	MOVQ	SI, -40(AX)
	MOVQ	$0, -48(AX)
	MOVQ	$const_VectorCall, -56(AX)
	MOVQ	·trapMark(SB), CX
	MOVQ	CX, -64(AX)
	MOVQ	BP, -72(AX)
	LEAQ	-(72+16)(AX), SP
	LEAQ	16(SP), BP
	XORPS	X15, X15
	MOVQ	BX, AX
	CALL	DX
	MOVQ	56(BP), DI		// the caller's SP
	MOVQ	(BP), BP
	LEAQ	-8(DI), SP
	RET

// func onStackCode() (lo, hi uintptr)
TEXT ·onStackCode(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	·onStack(SB), AX
	MOVQ	AX, lo+0(FP)
	LEAQ	·onStackCode(SB), AX
	MOVQ	AX, hi+8(FP)
	RET

// func beginStack(last, top, f uintptr)
//
// The new stack, from the top down; every trace ends with the record at last.
//
//	0   return address: none
//	0   frame pointer: none   <- last, BP
//	    what lies there
//	    return address        <- top: CALL f
TEXT ·beginStack(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	last+0(FP), BX
	MOVQ	top+8(FP), AX
	MOVQ	f+16(FP), DX
	MOVQ	$0, 0(BX)
	MOVQ	$0, 8(BX)
	JMP	outermost	// (vet takes what follows for a clobbered frame pointer, except after a jump)

outermost:
	MOVQ	BX, BP
	MOVQ	AX, SP
	XORPS	X15, X15
	CALL	DX
	HLT
	JMP	-1(PC)

// func FramePointer() uintptr
TEXT ·FramePointer(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	BP, ret+0(FP)
	RET

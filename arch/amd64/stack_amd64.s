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
	// Stores, not pushes: the assembler keeps count of pushes, and the count
	// means nothing on a new stack.
	LEAQ	-(72+16)(AX), SP
	MOVQ	$0, (64+16)(SP)
	MOVQ	DI, (56+16)(SP)
	MOVQ	$0, (48+16)(SP)
	MOVQ	$0, (40+16)(SP)
	MOVQ	SI, (32+16)(SP)
	MOVQ	$0, (24+16)(SP)
	MOVQ	$const_VectorCall, (16+16)(SP)
	MOVQ	·trapMark(SB), CX
	MOVQ	CX, (8+16)(SP)
	MOVQ	BP, 16(SP)
	LEAQ	16(SP), BP
	LEAQ	·fakeg(SB), R14
	XORPS	X15, X15
	MOVQ	BX, AX
	CALL	DX
	MOVQ	56(BP), DI		// the caller's SP
	MOVQ	(BP), BP
	LEAQ	-8(DI), SP
	RET

// func FramePointer() uintptr
TEXT ·FramePointer(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	BP, ret+0(FP)
	RET

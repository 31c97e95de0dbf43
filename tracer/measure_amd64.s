#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func bounds() (lo, guard uintptr)
TEXT ·bounds(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	const_gLo(R14), AX
	MOVQ	AX, lo+0(FP)
	MOVQ	const_gGuard1(R14), AX
	MOVQ	AX, guard+8(FP)
	RET

// func stackPointer() uintptr
TEXT ·stackPointer(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	ret+0(FP), AX
	MOVQ	AX, ret+0(FP)
	RET

// func measure(lo uintptr, fn func()) (sp uintptr)
//
//	fn, lo        arguments
//	return address
//	BP
//	0(SP)         what SP was
//
// All below SP is free: Go has no red zone, and traps have stacks of their own.
TEXT ·measure(SB), NOSPLIT, $8-24
	NO_LOCAL_POINTERS
	MOVQ	lo+0(FP), DI
	MOVQ	SP, CX
	MOVQ	SP, 0(SP)
	SUBQ	DI, CX
	SHRQ	$3, CX
	MOVQ	$const_Signature, AX
	REP; STOSQ
	MOVQ	fn+8(FP), DX
	MOVQ	(DX), AX
	CALL	AX
	MOVQ	0(SP), AX
	CMPQ	AX, SP
	JEQ	still
	XORL	AX, AX
still:
	MOVQ	AX, sp+16(FP)
	RET

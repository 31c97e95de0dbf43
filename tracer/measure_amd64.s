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

// func measure(lo uintptr, fn func()) (used uintptr)
//
//	used, fn, lo  result and arguments
//	return address
//	BP
//	0(SP)         the value of SP
//
// All memory below SP is free: Go has no red zone, and traps have stacks of their own. The mark is
// searched for before any other call, which would leave a mark of its own. The call of fn writes
// its return address, so there always is a mark.
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
	XORL	DX, DX
	MOVQ	0(SP), CX
	CMPQ	CX, SP
	JNE	moved
	MOVQ	lo+0(FP), DI
	SUBQ	DI, CX
	SHRQ	$3, CX
	MOVQ	$const_Signature, AX
	REP; SCASQ
	LEAQ	8(SP), DX
	SUBQ	DI, DX // DI is after the first word that is not paint
moved:
	MOVQ	DX, used+16(FP)
	RET

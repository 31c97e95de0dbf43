#include "textflag.h"

// The functions of moves.go. The assembler counts PUSHQ and POPQ, but no other writes of SP. decoy
// is the address after a call, in another function.

// func moveSub(x uint64)
//
//	return address
//	24 bytes
//	decoy
//	decoy           <- SP
TEXT ·moveSub(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·stepTail(SB), AX
	ADDQ	$4, AX
	SUBQ	$40, SP
	MOVQ	AX, (SP)
	MOVQ	AX, 8(SP)
	CALL	·stepTail(SB)
	ADDQ	$40, SP
	RET

// func moveBoth(x uint64)
//
//	return address
//	BX
//	16 bytes, of which the lower are the decoy
//	decoy           <- SP
TEXT ·moveBoth(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·stepTail(SB), AX
	ADDQ	$4, AX
	PUSHQ	BX
	SUBQ	$16, SP
	MOVQ	AX, (SP)
	PUSHQ	AX
	CALL	·stepTail(SB)
	POPQ	AX
	ADDQ	$16, SP
	POPQ	BX
	RET

// func moveExchange(x uint64)
//
// The stack is that of moveStack for three instructions; BX has the one before.
TEXT ·moveExchange(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·stepTail(SB), AX
	ADDQ	$4, AX
	LEAQ	·moveRoom+256(SB), BX
	MOVQ	AX, (BX)
	XCHGQ	BX, SP
	MOVQ	AX, 8(SP)
	NOP
	XCHGQ	BX, SP
	RET

// func moveStack(x uint64)
//
//	moveRoom:
//	  SP of the stack before
//	  decoy         <- SP
TEXT ·moveStack(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·stepTail(SB), AX
	ADDQ	$4, AX
	MOVQ	SP, BX
	LEAQ	·moveRoom+256(SB), SP
	PUSHQ	BX
	PUSHQ	AX
	NOP
	POPQ	AX
	POPQ	BX
	MOVQ	BX, SP
	RET

// func moveAligned(x uint64)
//
//	return address
//	saved BP        <- BP
//	32 bytes
//	decoy           <- SP, or below up to 56 bytes more
TEXT ·moveAligned(SB), NOSPLIT, $40-8
	LEAQ	·stepTail(SB), AX
	ADDQ	$4, AX
	MOVQ	AX, (SP)
	MOVQ	SP, BX
	ANDQ	$~63, SP
	SUBQ	$64, SP
	MOVQ	AX, (SP)
	MOVQ	AX, 40(SP)
	NOP
	MOVQ	BX, SP
	RET

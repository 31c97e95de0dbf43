#include "textflag.h"

// Stacks with broken frame records. Each function makes an ordinary frame
//
//	argument
//	return address
//	saved BP        <- BP
//	local word      <- SP
//
// writes into it, and dies by an invalid opcode with BP and SP intact.

// func smash(fp uintptr)
// Replaces the saved frame pointer.
TEXT ·smash(SB), NOSPLIT, $8-8
	MOVQ	fp+0(FP), AX
	MOVQ	AX, (BP)
	UNDEF
	RET

// func smashSelf() Makes the saved frame pointer point to its own record.
TEXT ·smashSelf(SB), NOSPLIT, $8-0
	MOVQ	BP, (BP)
	UNDEF
	RET

// func smashRecord()
// Zeroes the caller's whole record.
TEXT ·smashRecord(SB), NOSPLIT, $8-0
	MOVQ	(BP), CX
	MOVQ	$0, (CX)
	MOVQ	$0, 8(CX)
	UNDEF
	RET

// func smashAndSpin(fp uintptr) Replaces the saved frame pointer and then spins for ever.
TEXT ·smashAndSpin(SB), NOSPLIT, $8-8
	MOVQ	fp+0(FP), AX
	MOVQ	AX, (BP)
spin:
	PAUSE
	JMP	spin
	RET

// func smashCaller(ra uintptr)
// Replaces the return address of the caller, in the record above.
TEXT ·smashCaller(SB), NOSPLIT, $8-8
	MOVQ	ra+0(FP), AX
	MOVQ	(BP), CX
	MOVQ	AX, 8(CX)
	UNDEF
	RET

// func reuse() Has no frame pointer: it has saved the caller's, and uses BP for a value of its own.
TEXT ·reuse(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ	BP
	MOVQ	$0x1234560, BP
	UNDEF
	POPQ	BP
	RET

// func badSPC(sp uintptr)
// Dies with a stack pointer that is no address.
TEXT ·badSPC(SB), NOSPLIT, $8-8
	MOVQ	sp+0(FP), AX
	MOVQ	AX, SP
	UNDEF
	RET

// func addressOf(p *[3*4096]byte) uintptr
TEXT ·addressOf(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	p+0(FP), AX
	MOVQ	AX, ret+8(FP)
	RET

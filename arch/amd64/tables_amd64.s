#include "textflag.h"

// func lgdt(base, limit uintptr)
//
// CS changes only by a far transfer: push the selector and the address, RETF.
//
//	selector
//	address   <- SP at RETFQ
TEXT ·lgdt(SB), NOSPLIT, $16-16
	MOVQ	base+0(FP), AX
	MOVQ	limit+8(FP), CX
	MOVW	CX, 6(SP)
	MOVQ	AX, 8(SP)
	LGDT	6(SP)
	MOVW	$0x10, AX
	MOVW	AX, DS
	MOVW	AX, ES
	MOVW	AX, SS
	// FS and GS: their bases come from MSRs; a null selector is fine, but
	// loading FS would clear its base, so it is left as the boot set it.
	LEAQ	·reloadCS(SB), AX
	CALL	AX
	RET

// reloadCS returns to its caller with CS reloaded.
TEXT ·reloadCS(SB), NOSPLIT|NOFRAME, $0
	POPQ	AX
	PUSHQ	$0x08
	PUSHQ	AX
	RETFQ

// func lidt(base, limit uintptr)
TEXT ·lidt(SB), NOSPLIT, $16-16
	MOVQ	base+0(FP), AX
	MOVQ	limit+8(FP), CX
	MOVW	CX, 6(SP)
	MOVQ	AX, 8(SP)
	LIDT	6(SP)
	RET

// func ltr(sel uintptr)
TEXT ·ltr(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	sel+0(FP), AX
	LTR	AX
	RET

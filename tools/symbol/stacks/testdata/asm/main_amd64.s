#include "textflag.h"

// Bytes below the return address are in the comments.

TEXT ·bare(SB), NOSPLIT|NOFRAME, $0		// 0
	RET

TEXT ·pushes(SB), NOSPLIT|NOFRAME, $0	// 24, and 16+8+0 for bare: 24
	PUSHQ	AX
	PUSHQ	BX
	CALL	·bare(SB)
	PUSHQ	CX
	POPQ	CX
	POPQ	BX
	POPQ	AX
	RET

TEXT ·frame(SB), NOSPLIT, $40			// 40+8 for BP, +8+24 for pushes: 80
	CALL	·pushes(SB)
	RET

TEXT ·tail(SB), NOSPLIT|NOFRAME, $0		// 8 at the call, no more at the jump: 80
	PUSHQ	AX
	CALL	·bare(SB)
	POPQ	AX
	JMP	·frame(SB)

TEXT ·loop(SB), NOSPLIT|NOFRAME, $0		// no end to it
again:
	PUSHQ	AX
	JMP	again

TEXT ·recurse(SB), 0, $8-0				// 8+8 for BP, +8 for the call: three are 64
	TESTQ	AX, AX
	JEQ	done
	CALL	·recurse(SB)
done:
	RET

TEXT ·indirect(SB), NOSPLIT|NOFRAME, $0
	CALL	AX
	RET

TEXT ·viaHook(SB), NOSPLIT|NOFRAME, $0	// 8 and target
	MOVQ	·hook(SB), DX
	MOVQ	(DX), AX
	CALL	AX
	RET

TEXT ·given(SB), NOSPLIT|NOFRAME, $0	// 8 and gift
	CALL	AX
	RET

TEXT ·aligns(SB), NOSPLIT|NOFRAME, $0	// 8 for BP, 56 at most to align, 32: 96
	PUSHQ	BP
	MOVQ	SP, BP
	ANDQ	$~63, SP
	SUBQ	$32, SP
	MOVQ	BP, SP
	POPQ	BP
	RET

TEXT ·record(SB), NOSPLIT|NOFRAME, $0	// 8+16, then 8+48 by BP, +8: 64
	PUSHQ	BP
	MOVQ	SP, BP
	SUBQ	$16, SP
	LEAQ	-48(BP), SP
	CALL	·bare(SB)
	LEAQ	(BP), SP
	POPQ	BP
	RET

TEXT ·gate(SB), NOSPLIT|NOFRAME, $0		// 8; the rest is on another stack
	SUBQ	$8, SP
	MOVQ	(AX), SP
	CALL	·frame(SB)
	RET

TEXT ·loads(SB), NOSPLIT|NOFRAME, $0
	MOVQ	(AX), SP
	RET

TEXT ·fresh(SB), NOSPLIT|NOFRAME, $0	// from the load: 40+8, +8+24 for pushes: 80
	LEAQ	-40(AX), SP
	SUBQ	$8, SP
	CALL	·pushes(SB)
	RET

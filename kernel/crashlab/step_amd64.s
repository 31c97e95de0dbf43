#include "textflag.h"

// func stepAssembly(x uint64)
//
//	x
//	return address
//	saved BP        <- BP
//	16 bytes        <- SP: the argument of stepBare
TEXT ·stepAssembly(SB), NOSPLIT, $16-8
	MOVQ	x+0(FP), AX
	SHRQ	$1, AX
	MOVQ	AX, 0(SP)
	CALL	·stepBare(SB)
	MOVQ	x+0(FP), AX
	RET

// func stepBare(x uint64) Without a frame pointer of its own: BP stays the caller's. It pushes,
// because the assembler counts pushes but not a SUBQ.
TEXT ·stepBare(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	x+0(FP), AX
	PUSHQ	BX
	PUSHQ	AX
	CALL	·stepTail(SB)
	POPQ	AX
	POPQ	BX
	RET

// func stepJump(x uint64)
TEXT ·stepJump(SB), NOSPLIT|NOFRAME, $0-8
	INCQ	x+0(FP)
	JMP	·stepTail(SB)

// func stepTail(x uint64)
TEXT ·stepTail(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	x+0(FP), AX
	ADDQ	$1, AX
	MOVQ	AX, x+0(FP)
	RET

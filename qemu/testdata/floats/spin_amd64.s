#include "textflag.h"

// func spin(ready *uint32)
TEXT ·spin(SB), NOSPLIT, $0-8
	MOVQ	$0x4004000000000000, AX
	MOVQ	AX, X0
	MOVQ	$0xbfc0000000000000, AX
	MOVQ	AX, X7
	MOVQ	$0x1122334455667788, AX
	MOVQ	AX, X14
	PSHUFD	$0x44, X14, X14
	MOVQ	ready+0(FP), AX
	MOVL	$1, (AX)
again:
	PAUSE
	JMP	again

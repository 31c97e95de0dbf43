#include "textflag.h"

// func divideAsmC()
TEXT ·divideAsmC(SB), NOSPLIT, $8-0
	XORL	AX, AX
	XORL	DX, DX
	XORL	CX, CX
	DIVL	CX
	RET

// func morestackPC() uintptr
TEXT ·morestackPC(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	runtime·morestack(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

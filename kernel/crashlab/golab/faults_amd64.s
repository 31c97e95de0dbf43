#include "textflag.h"

// func divideAsmC()
TEXT ·divideAsmC(SB), NOSPLIT, $8-0
	XORL	AX, AX
	XORL	DX, DX
	XORL	CX, CX
	DIVL	CX
	RET

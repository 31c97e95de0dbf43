#include "textflag.h"

// Crashes that Go code cannot cause.

// func callAddress(a uintptr)
// Makes an ordinary frame, then calls a.
TEXT ·callAddress(SB), NOSPLIT, $8-8
	MOVQ	a+0(FP), AX
	CALL	AX
	RET

// func undefinedC()
TEXT ·undefinedC(SB), NOSPLIT, $8-0
	UNDEF
	RET

// func breakpointC()
TEXT ·breakpointC(SB), NOSPLIT, $8-0
	BYTE	$0xcc
	RET

// func doubleC()
// Divides by zero.
TEXT ·doubleC(SB), NOSPLIT, $8-0
	XORL	AX, AX
	XORL	DX, DX
	XORL	CX, CX
	DIVL	CX
	RET

#include "textflag.h"

// func Chase(fp uintptr, out *uintptr) (n int)
TEXT ·Chase(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	fp+0(FP), AX
	MOVQ	out+8(FP), DX
loop:
	MOVQ	8(AX), CX
	MOVQ	CX, (DX)
	ADDQ	$8, DX
	MOVQ	(AX), AX
	TESTQ	AX, AX
	JNE	loop
	SUBQ	out+8(FP), DX
	SHRQ	$3, DX
	MOVQ	DX, n+16(FP)
	RET

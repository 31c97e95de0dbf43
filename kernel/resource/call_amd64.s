#include "textflag.h"

// func call(op, a, b, c, d uintptr) (result uintptr)
TEXT ·call(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	op+0(FP), DI
	MOVQ	a+8(FP), SI
	MOVQ	b+16(FP), DX
	MOVQ	c+24(FP), R10
	MOVQ	d+32(FP), R8
	MOVL	$0x7a660002, AX		// Call
	SYSCALL
	MOVQ	AX, result+40(FP)
	RET

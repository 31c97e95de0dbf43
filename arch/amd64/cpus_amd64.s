#include "textflag.h"

// func CompareAndSwap(p *uint32, old, new uint32) bool
TEXT ·CompareAndSwap(SB), NOSPLIT|NOFRAME, $0-17
	MOVQ	p+0(FP), DI
	MOVL	old+8(FP), AX
	MOVL	new+12(FP), CX
	LOCK
	CMPXCHGL	CX, (DI)
	SETEQ	ret+16(FP)
	RET

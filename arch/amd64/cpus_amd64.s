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

// func CompareAndSwap64(p *uint64, old, new uint64) bool
TEXT ·CompareAndSwap64(SB), NOSPLIT|NOFRAME, $0-25
	MOVQ	p+0(FP), DI
	MOVQ	old+8(FP), AX
	MOVQ	new+16(FP), CX
	LOCK
	CMPXCHGQ	CX, (DI)
	SETEQ	ret+24(FP)
	RET

// func FetchAdd(p *uint32, n uint32) (old uint32)
TEXT ·FetchAdd(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ	p+0(FP), DI
	MOVL	n+8(FP), AX
	LOCK
	XADDL	AX, (DI)
	MOVL	AX, old+16(FP)
	RET

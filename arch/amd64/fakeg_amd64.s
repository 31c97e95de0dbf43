#include "textflag.h"
#include "go_asm.h"

// func SetGo(lo uintptr)
//
// A leaf: the Go code that calls it is assembly itself, so it may set R14.
TEXT ·SetGo(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	lo+0(FP), AX
	LEAQ	·fakeg(SB), R14
	MOVQ	AX, (const_gStackLo*8)(R14)
	ADDQ	$const_StackGuard, AX
	MOVQ	AX, (const_gStackGuard0*8)(R14)
	MOVQ	AX, (const_gStackGuard1*8)(R14)
	LEAQ	·tls(SB), AX
	MOVQ	R14, (AX)		// FS:-8
	ADDQ	$8, AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$const_MSRFSBase, CX
	WRMSR
	XORPS	X15, X15
	RET

// func OnFakeG() bool
TEXT ·OnFakeG(SB), NOSPLIT|NOFRAME, $0-1
	LEAQ	·fakeg(SB), AX
	CMPQ	R14, AX
	SETEQ	ret+0(FP)
	RET

#include "textflag.h"
#include "go_asm.h"

// func SetGo(lo uintptr, c *CPU)
//
// A leaf: its Go caller is itself called from assembly, so SetGo may set R14.
TEXT ·SetGo(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	lo+0(FP), SI
	MOVQ	c+8(FP), DI
	MOVQ	DI, CPU_self(DI)
	MOVL	$const_callReady, CPU_call(DI)
	LEAQ	CPU_g(DI), R14
	MOVQ	$const_PoisonM, AX
	MOVQ	AX, (const_gM*8)(R14)
	MOVQ	SI, (const_gStackLo*8)(R14)
	ADDQ	$const_StackGuard, SI
	MOVQ	SI, (const_gStackGuard0*8)(R14)
	MOVQ	SI, (const_gStackGuard1*8)(R14)
	MOVQ	R14, CPU_tls(DI)	// FS:-8
	LEAQ	(CPU_tls+8)(DI), AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$const_MSRFSBase, CX
	WRMSR
	MOVQ	DI, AX
	MOVQ	DI, DX
	SHRQ	$32, DX
	MOVL	$const_MSRGSBase, CX
	WRMSR
	XORPS	X15, X15
	RET

// func ThisCPU() *CPU
TEXT ·ThisCPU(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	CPU_self(GS), AX
	MOVQ	AX, ret+0(FP)
	RET

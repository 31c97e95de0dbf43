#include "textflag.h"

// func xsetbv(mask uint32)
TEXT ·xsetbv(SB), NOSPLIT|NOFRAME, $0-4
	MOVL	mask+0(FP), AX
	MOVL	$0, DX
	MOVL	$0, CX
	XSETBV
	RET

// func xsave(to uintptr, mask uint32)
TEXT ·xsave(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ	to+0(FP), DI
	MOVL	mask+8(FP), AX
	MOVL	$0, DX
	XSAVE64	(DI)
	RET

// func saveControl(v *uint64)
TEXT ·saveControl(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	STMXCSR	(AX)
	FSTCW	4(AX)
	RET

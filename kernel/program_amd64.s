#include "textflag.h"

// func runtimeEntry() uintptr
TEXT ·runtimeEntry(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	_rt0_amd64_linux(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func panicCall(reason string, fp uintptr)
TEXT ·panicCall(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	reason_base+0(FP), DI
	MOVQ	reason_len+8(FP), SI
	MOVQ	fp+16(FP), DX
	MOVL	$0x7a660001, AX		// linuxabi.PanicCall
	SYSCALL
	RET

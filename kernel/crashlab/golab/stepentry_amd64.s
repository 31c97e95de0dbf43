#include "textflag.h"

// Continuations of a trace of the entry code.

// func stepSyscall(number, arg uintptr) Without a frame, like those of the Go runtime.
TEXT ·stepSyscall(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	number+0(FP), AX
	MOVQ	arg+8(FP), DI
	MOVQ	$0, SI
	SYSCALL
	RET

// func stepTouch(address uintptr)
TEXT ·stepTouch(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	address+0(FP), AX
	MOVB	$1, (AX)
	RET

// func stepSend(vector uint32, command uintptr)
// By the local APIC's interrupt command register (SDM Vol. 3A, 11.6.1), to itself.
TEXT ·stepSend(SB), NOSPLIT, $16-16
	MOVL	vector+0(FP), AX
	ORL	$(1<<18 | 1<<14), AX
	MOVQ	command+8(FP), DX
	MOVL	$0, 16(DX)
	MOVL	AX, (DX)
	MOVQ	$100, CX
wait:
	PAUSE
	SUBQ	$1, CX
	JNE	wait
	RET

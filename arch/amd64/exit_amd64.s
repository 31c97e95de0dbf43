#include "funcdata.h"
#include "textflag.h"

#define SYS_exit_group 231

// func exitCall()
//
//	24(SP)  the address of SYSCALL in runtime.exit
//	16(SP)  frame pointer, which the assembler saves
//	 8(SP)  the exit status
//	 0(SP)  unused: keeps the frame a multiple of 16 bytes
TEXT ·exitCall(SB), NOSPLIT, $16-0
	NO_LOCAL_POINTERS
	MOVQ	DI, 8(SP)
	CALL	·runExitCall(SB)
	MOVQ	8(SP), DI
	MOVL	$SYS_exit_group, AX
	RET

// func exitEntry() uintptr
TEXT ·exitEntry(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·exitCall(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

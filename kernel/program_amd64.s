#include "textflag.h"

// func runtimeEntry() uintptr
TEXT ·runtimeEntry(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	_rt0_amd64_linux(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

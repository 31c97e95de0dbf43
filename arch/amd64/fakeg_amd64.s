#include "textflag.h"
#include "go_asm.h"

// func OnFakeG() bool
//
// Any context, also on Linux: R14 leads to a g wherever Go runs, but GS is not the kernel's
// everywhere.
TEXT ·OnFakeG(SB), NOSPLIT|NOFRAME, $0-1
	MOVQ	$const_PoisonM, AX
	CMPQ	(const_gM*8)(R14), AX
	SETEQ	ret+0(FP)
	RET

#include "textflag.h"

// From the boot package's assembly to the first Go function.

// func start()
//
// Called on the boot stack, which is painted below. start makes an ordinary
// frame, so it is part of every trace that ends where the boot began:
//
//	return address into boot.long
//	BP of boot.long               <- BP
//	8 bytes for arguments         <- SP
TEXT ·start(SB), NOSPLIT, $8-0
	MOVQ	github·com∕zeroframe∕zeroframe∕boot·StackLo(SB), AX
	MOVQ	AX, 0(SP)
	CALL	github·com∕zeroframe∕zeroframe∕arch∕amd64·SetGo(SB)
	MOVQ	·earlyFunc(SB), DX
	MOVQ	(DX), CX
	CALL	CX
	RET

// func textBounds() (lo, hi uintptr)
TEXT ·textBounds(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	runtime·text(SB), AX
	MOVQ	AX, lo+0(FP)
	LEAQ	runtime·etext(SB), AX
	MOVQ	AX, hi+8(FP)
	RET

// func typesBase() uintptr
TEXT ·typesBase(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	runtime·types(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func pctabBounds() (lo, hi uintptr)
TEXT ·pctabBounds(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	runtime·pclntab(SB), AX
	MOVQ	AX, lo+0(FP)
	LEAQ	runtime·epclntab(SB), AX
	MOVQ	AX, hi+8(FP)
	RET

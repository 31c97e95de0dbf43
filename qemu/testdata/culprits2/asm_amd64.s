#include "textflag.h"

// func split(parts *[4]int, n int)
TEXT ·split(SB), NOSPLIT, $0-16
	MOVQ parts+0(FP), DI
	MOVQ n+8(FP), AX
	MOVQ $5, CX
next:
	MOVQ AX, (DI)    // culprit assembly
	ADDQ $8, DI
	INCQ AX
	DECQ CX
	JNZ  next
	RET

// func smash(room *[2]int, n int)
TEXT ·smash(SB), NOSPLIT, $0-16
	MOVQ room+0(FP), DI
	MOVQ n+8(FP), AX
	MOVQ AX, 0(DI)
	MOVQ AX, 8(DI)
	MOVQ BP, DI      // the caller's frame: the return address is behind its frame pointer
	IMULQ $0x1111, AX
	MOVQ AX, 8(DI)   // culprit returnaddress
	RET

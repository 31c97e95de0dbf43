#include "textflag.h"

// No vector registers: in kernel context they hold the interrupted program's values.

// func paint(base uintptr, words uintptr, signature uintptr)
TEXT ·paint(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	base+0(FP), DI
	MOVQ	words+8(FP), CX
	MOVQ	signature+16(FP), AX
	CLD
	REP; STOSQ
	RET

// func unpainted(base uintptr, blocks uintptr, signature uintptr) (n uintptr)
//
// Comparing with memory and branching is one operation for the CPU, and none of the branches is
// taken while there is paint.
TEXT ·unpainted(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	base+0(FP), DI
	MOVQ	blocks+8(FP), SI
	MOVQ	signature+16(FP), AX
	SHLQ	$6, SI
	ADDQ	DI, SI
	CMPQ	DI, SI
	JAE	done
loop:
	CMPQ	AX, (DI)
	JNE	done
	CMPQ	AX, 8(DI)
	JNE	done
	CMPQ	AX, 16(DI)
	JNE	done
	CMPQ	AX, 24(DI)
	JNE	done
	CMPQ	AX, 32(DI)
	JNE	done
	CMPQ	AX, 40(DI)
	JNE	done
	CMPQ	AX, 48(DI)
	JNE	done
	CMPQ	AX, 56(DI)
	JNE	done
	ADDQ	$64, DI
	CMPQ	DI, SI
	JB	loop
done:
	SUBQ	base+0(FP), DI
	SHRQ	$6, DI
	MOVQ	DI, n+24(FP)
	RET

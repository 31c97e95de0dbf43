#include "textflag.h"

#define VALUE(N, REG) MOVQ $(0x1122334455660000 + N), REG
#define SAME(N, REG) \
	MOVQ	$(0x1122334455660000 + N), AX; \
	CMPQ	AX, REG; \
	JNE	bad

// func exitRegisters() uint64
TEXT ·exitRegisters(SB), NOSPLIT, $24-8
	MOVQ	R14, 0(SP)
	CALL	·exitAssembly(SB)
	JCC	bad			// the carry was set
	MOVQ	AX, 8(SP)
	SAME(1, BX)
	SAME(2, CX)
	SAME(3, DX)
	SAME(4, SI)
	SAME(5, DI)
	SAME(6, R8)
	SAME(7, R9)
	SAME(8, R10)
	SAME(9, R11)
	SAME(10, R12)
	SAME(11, R13)
	SAME(12, R14)
	SAME(13, R15)
	MOVQ	8(SP), BX
	SAME(0, BX)
	MOVQ	X0, BX
	SAME(14, BX)
	MOVQ	X15, BX
	SAME(15, BX)
	MOVQ	$0, ret+0(FP)
	JMP	done
bad:
	MOVQ	$1, ret+0(FP)
done:
	MOVQ	0(SP), R14
	XORPS	X15, X15
	RET

// func exitAssembly()
// Sets a hook on itself.
TEXT ·exitAssembly(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	SP, AX
	PUSHQ	BP
	MOVQ	SP, BP
	PUSHQ	AX
	CALL	·exitSet(SB)
	POPQ	AX
	POPQ	BP
	VALUE(14, AX)
	MOVQ	AX, X0
	VALUE(15, AX)
	MOVQ	AX, X15
	VALUE(0, AX)
	VALUE(1, BX)
	VALUE(2, CX)
	VALUE(3, DX)
	VALUE(4, SI)
	VALUE(5, DI)
	VALUE(6, R8)
	VALUE(7, R9)
	VALUE(8, R10)
	VALUE(9, R11)
	VALUE(10, R12)
	VALUE(11, R13)
	VALUE(12, R14)
	VALUE(13, R15)
	STC
	RET

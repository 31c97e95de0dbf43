#include "textflag.h"
#include "go_asm.h"

// func NoteEvent(c *CPU, kind, thread, number uint32, a, b uintptr) (at uintptr)
TEXT ·NoteEvent(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	c+0(FP), CX
	MOVQ	CPU_LatestEvent(CX), BX
	TESTQ	BX, BX
	JEQ	none
	ADDQ	$const_EventSize, BX
	TESTQ	$(const_RingSize-1), BX
	JEQ	wrap
write:
	MOVQ	BX, CPU_LatestEvent(CX)
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	ADDQ	CPU_CounterOffset(CX), AX
	MOVQ	AX, 0(BX)
	MOVL	kind+8(FP), AX
	MOVL	AX, 8(BX)
	MOVL	thread+12(FP), AX
	MOVW	AX, 10(BX)
	MOVL	number+16(FP), AX
	MOVL	AX, 12(BX)
	MOVQ	a+24(FP), AX
	MOVQ	AX, 16(BX)
	MOVQ	b+32(FP), AX
	MOVQ	AX, 24(BX)
	MOVQ	BX, at+40(FP)
	RET
wrap:
	SUBQ	$const_RingSize, BX
	JMP	write
none:
	MOVQ	$const_NotNoted, at+40(FP)
	RET

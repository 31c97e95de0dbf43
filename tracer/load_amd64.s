#include "textflag.h"
#include "go_asm.h"

// The loads that may fault, and the code that takes over when they do. Each function is a leaf
// without a frame and keeps SP as it was at entry, so its fault function can return in its place.
// Each is padded beyond fixupSize bytes, so an address less than that above its entry is its own.

#define PAD8 \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc

#define PAD PAD8; PAD8; PAD8; PAD8

// STEP checks the record at AX, and stores a frame.
#define STEP \
	LEAQ	(AX)(BX*1), CX; \
	RORQ	$3, CX;		/* a misaligned fp gets an index beyond any span */ \
	CMPQ	CX, SI; \
	JAE	stop; \
	CMPQ	CX, DX; \
	JB	stop; \
	MOVQ	8(AX), R12;	/* may fault */ \
	LEAQ	(R12)(DI*1), R15; \
	CMPQ	R15, R8; \
	JAE	stop; \
	MOVQ	(AX), AX;	/* may fault */ \
	LEAQ	2(CX), DX; \
	MOVQ	R12, Frame_Addr(R9); \
	MOVQ	AX, Frame_FP(R9); \
	MOVQ	R11, Frame_Kind(R9);	/* Kind, Stack and the padding behind them */ \
	ADDQ	R13, R12; \
	CMPQ	R12, R10; \
	CMOVQCS	R12, R10

// func chase(c *chaser, out unsafe.Pointer, max uintptr)
//
//	AX fp     CX its word index   DX lowest index allowed
//	BX -lo    SI span             DI -text    R8 text span
//	R9 frame to store into, max their end   R11 meta
//	R12 return address   R13 -exact   R10 smallest distance from there
//
// The loop stores two frames a turn. If their number is odd, the first turn begins in the middle.
TEXT ·chase(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	c+0(FP), R13
	MOVQ	out+8(FP), R9
	MOVQ	max+16(FP), R10
	MOVQ	R10, CX
	IMULQ	$Frame__size, R10
	ADDQ	R9, R10
	MOVQ	R10, max+16(FP)
	MOVQ	chaser_fp(R13), AX
	MOVQ	chaser_min(R13), DX
	MOVQ	chaser_negLo(R13), BX
	MOVQ	chaser_span(R13), SI
	MOVQ	chaser_negText(R13), DI
	MOVQ	chaser_textSpan(R13), R8
	MOVQ	chaser_meta(R13), R11
	MOVQ	chaser_nearest(R13), R10
	MOVQ	chaser_negExact(R13), R13
	TESTQ	$1, CX
	JNE	next
loop:
	STEP
	ADDQ	$Frame__size, R9
next:
	STEP
	ADDQ	$Frame__size, R9
	CMPQ	R9, max+16(FP)
	JB	loop
stop:
	MOVQ	$0, CX
	JMP	·chaseDone(SB)
	PAD

// func chaseFault(c *chaser, out unsafe.Pointer, max uintptr)
TEXT ·chaseFault(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	$1, CX
	JMP	·chaseDone(SB)

// chaseDone stores the loop's state (AX, DX, R9, R10, and in CX whether a load faulted) back into
// the chaser.
TEXT ·chaseDone(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	c+0(FP), BX
	MOVQ	AX, chaser_fp(BX)
	MOVQ	DX, chaser_min(BX)
	MOVQ	CX, chaser_fault(BX)
	MOVQ	R10, chaser_nearest(BX)
	MOVQ	R9, AX
	SUBQ	out+8(FP), AX
	XORL	DX, DX
	MOVQ	$Frame__size, CX
	DIVQ	CX
	MOVQ	c+0(FP), BX
	MOVQ	AX, chaser_n(BX)
	RET

// func ReadWord(addr uintptr) (word uintptr, ok bool)
TEXT ·ReadWord(SB), NOSPLIT|NOFRAME, $0-17
	MOVQ	addr+0(FP), AX
	MOVQ	(AX), AX	// may fault
	MOVQ	AX, word+8(FP)
	MOVB	$1, ok+16(FP)
	RET
	PAD

// func readWordFault(addr uintptr) (word uintptr, ok bool)
TEXT ·readWordFault(SB), NOSPLIT|NOFRAME, $0-17
	MOVQ	$0, word+8(FP)
	MOVB	$0, ok+16(FP)
	RET

// func fixups() (chase, chaseFault, read, readFault uintptr)
TEXT ·fixups(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	·chase(SB), AX
	MOVQ	AX, chase+0(FP)
	LEAQ	·chaseFault(SB), AX
	MOVQ	AX, chaseFault+8(FP)
	LEAQ	·ReadWord(SB), AX
	MOVQ	AX, read+16(FP)
	LEAQ	·readWordFault(SB), AX
	MOVQ	AX, readFault+24(FP)
	RET

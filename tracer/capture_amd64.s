#include "textflag.h"
#include "go_asm.h"

// The loops of capture.go. They are leaves without frames, like those in load_amd64.s. If a load
// faults, the fault function takes over: it walks again with care, or reports that the stack is not
// the same. Each loop is padded beyond captureSize bytes, so an address less than that above its
// entry is its own.

#define PAD8 \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc

#define PAD PAD8; PAD8; PAD8; PAD8; PAD8; PAD8; PAD8; PAD8

// RECORD checks the record at AX and stores it at OFF; CUR becomes its word index. PREV is the
// index of the previous one.
//
//	BX -lo   SI span   DI -text   R8 text span   R9 out
#define RECORD(PREV, CUR, OFF, STOP) \
	LEAQ	(AX)(BX*1), CUR; \
	RORQ	$3, CUR; \
	CMPQ	CUR, SI; \
	JAE	STOP; \
	CMPQ	CUR, PREV; \
	JLE	STOP; \
	MOVQ	8(AX), R12; \
	LEAQ	(R12)(DI*1), R13; \
	CMPQ	R13, R8; \
	JAE	STOP; \
	MOVQ	(AX), AX; \
	MOVQ	AX, (OFF+Record_FP)(R9); \
	MOVQ	R12, (OFF+Record_RA)(R9)

// func capture(c *Capture, fp uintptr)
TEXT ·capture(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	c+0(FP), R11
	MOVQ	fp+8(FP), AX
	MOVQ	AX, Capture_first(R11)
	MOVQ	(Capture_c+chaser_negLo)(R11), BX
	MOVQ	(Capture_c+chaser_span)(R11), SI
	MOVQ	(Capture_c+chaser_negText)(R11), DI
	MOVQ	(Capture_c+chaser_textSpan)(R11), R8
	MOVQ	Capture_out(R11), R9
	MOVQ	Capture_end(R11), R10
	MOVQ	$-1, DX
loop:
	RECORD(DX, CX, 0, stop0)
	RECORD(CX, DX, 16, stop1)
	RECORD(DX, CX, 32, stop2)
	RECORD(CX, DX, 48, stop3)
	ADDQ	$64, R9
	CMPQ	R9, R10
	JB	loop
	JMP	stop0
stop3:
	ADDQ	$16, R9
stop2:
	ADDQ	$16, R9
stop1:
	ADDQ	$16, R9
stop0:
	SUBQ	Capture_out(R11), R9
	SHRQ	$4, R9		// Record__size
	MOVQ	AX, Capture_last(R11)
	MOVQ	R9, Capture_N(R11)
	CMPQ	·numExits(SB), $0
	JNE	hooked
	RET
hooked:
	JMP	·captureSlow(SB)
	PAD

// func captureFault(c *Capture, fp uintptr)
TEXT ·captureFault(SB), NOSPLIT|NOFRAME, $0-16
	JMP	·captureSlow(SB)

// SAME compares the record at AT with the one at OFF; NEXT becomes its frame pointer.
#define SAME(AT, NEXT, OFF) \
	MOVQ	(OFF+Record_FP)(R9), NEXT; \
	MOVQ	(OFF+Record_RA)(R9), R12; \
	CMPQ	NEXT, (AT); \
	JNE	differs; \
	CMPQ	R12, 8(AT); \
	JNE	differs

// func recapture(c *Capture) (unchanged bool)
//
//	AX, BX frame pointers   R9 records   R10 their end
TEXT ·recapture(SB), NOSPLIT|NOFRAME, $0-9
	MOVQ	c+0(FP), R11
	MOVQ	Capture_first(R11), AX
	MOVQ	Capture_Records(R11), R9
	MOVQ	Capture_N(R11), R10
	MOVQ	R10, CX
	SHLQ	$4, R10
	ADDQ	R9, R10
	ANDQ	$3, CX
	JEQ	loop
one:
	SAME(AX, BX, 0)
	MOVQ	BX, AX
	ADDQ	$16, R9
	DECQ	CX
	JNE	one
	CMPQ	R9, R10
	JAE	same
loop:
	SAME(AX, BX, 0)
	SAME(BX, AX, 16)
	SAME(AX, BX, 32)
	SAME(BX, AX, 48)
	ADDQ	$64, R9
	CMPQ	R9, R10
	JB	loop
same:
	MOVB	$1, unchanged+8(FP)
	RET
differs:
	MOVB	$0, unchanged+8(FP)
	RET
	PAD

// func recaptureFault(c *Capture) (unchanged bool)
TEXT ·recaptureFault(SB), NOSPLIT|NOFRAME, $0-9
	MOVB	$0, unchanged+8(FP)
	RET

// func captureFixups() (capture, captureFault, recapture, recaptureFault uintptr)
TEXT ·captureFixups(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	·capture(SB), AX
	MOVQ	AX, capture+0(FP)
	LEAQ	·captureFault(SB), AX
	MOVQ	AX, captureFault+8(FP)
	LEAQ	·recapture(SB), AX
	MOVQ	AX, recapture+16(FP)
	LEAQ	·recaptureFault(SB), AX
	MOVQ	AX, recaptureFault+24(FP)
	RET

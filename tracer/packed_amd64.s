#include "textflag.h"
#include "go_asm.h"

// The loop of packed.go: a leaf without a frame, as those in capture_amd64.s. Where a
// load faults, all that was found is still where it was before, and the walk is done
// again with care. It is padded beyond packedSize bytes: an address less than that
// above its entry is its own.

#define PAD8 \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc

#define PAD4 PAD8; PAD8; PAD8; PAD8
#define PAD PAD4; PAD4; PAD4; PAD4

// RECORD looks at the record at AX, of which CUR becomes the word index, and adds its
// return address at OFF. PREV is the index of the one before.
//
//	BX -lo   SI span   DI -text   R8 text span   R9 next unit   R11 factor
//	R13 hash
#define RECORD(PREV, CUR, OFF, STOP) \
	LEAQ	(AX)(BX*1), CUR; \
	RORQ	$3, CUR; \
	CMPQ	CUR, SI; \
	JAE	STOP; \
	CMPQ	CUR, PREV; \
	JLE	STOP; \
	MOVQ	8(AX), R12; \
	ADDQ	DI, R12; \
	CMPQ	R12, R8; \
	JAE	STOP; \
	MOVQ	(AX), AX; \
	IMULQ	R11, R13; \
	MOVL	R12, OFF(R9); \
	ADDQ	R12, R13

// LOOP is the loop for units of W bytes.
#define LOOP(W, again, stop0, stop1, stop2, stop3) \
again: \
	RECORD(DX, CX, (0*W), stop0); \
	RECORD(CX, DX, (1*W), stop1); \
	RECORD(DX, CX, (2*W), stop2); \
	RECORD(CX, DX, (3*W), stop3); \
	ADDQ	$(4*W), R9; \
	CMPQ	R9, R10; \
	JB	again; \
	JMP	stop0; \
stop3: \
	ADDQ	$(3*W), R9; \
	JMP	odd; \
stop1: \
	ADDQ	$W, R9; \
	JMP	odd; \
stop2: \
	ADDQ	$(2*W), R9; \
stop0: \
	JMP	even

// func pack(p *Packed)
TEXT ·pack(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	p+0(FP), R10
	MOVQ	(Packed_c+chaser_fp)(R10), AX
	MOVQ	(Packed_c+chaser_min)(R10), DX
	MOVQ	(Packed_c+chaser_negLo)(R10), BX
	MOVQ	(Packed_c+chaser_span)(R10), SI
	MOVQ	(Packed_c+chaser_negText)(R10), DI
	MOVQ	(Packed_c+chaser_textSpan)(R10), R8
	MOVQ	Packed_at(R10), R9
	MOVQ	Packed_Hash(R10), R13
	MOVQ	$const_HashFactor, R11
	CMPQ	Packed_Width(R10), $3
	MOVQ	Packed_end(R10), R10
	JNE	loop4
	LOOP(3, loop3, stop30, stop31, stop32, stop33)
	LOOP(4, loop4, stop40, stop41, stop42, stop43)
odd:
	MOVQ	CX, DX
even:
	MOVQ	p+0(FP), R10
	MOVQ	AX, (Packed_c+chaser_fp)(R10)
	MOVQ	DX, (Packed_c+chaser_min)(R10)
	MOVQ	R9, Packed_at(R10)
	MOVQ	R13, Packed_Hash(R10)
	RET
	PAD

// func packFault(p *Packed)
TEXT ·packFault(SB), NOSPLIT|NOFRAME, $0-8
	JMP	·packSlow(SB)

// func packFixups() (pack, packFault uintptr)
TEXT ·packFixups(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	·pack(SB), AX
	MOVQ	AX, pack+0(FP)
	LEAQ	·packFault(SB), AX
	MOVQ	AX, packFault+8(FP)
	RET

#include "textflag.h"
#include "go_asm.h"

// The loop of packed.go. It is a leaf without a frame, like those in capture_amd64.s. If a load
// faults or a record is misaligned, p is left unchanged, and the walk is done again with care. It
// is padded beyond packedSize bytes, so an address less than that above its entry is its own.

#define PAD8 \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc

#define PAD4 PAD8; PAD8; PAD8; PAD8
#define PAD PAD4; PAD4; PAD4; PAD4

// RECORD checks the record at CUR, and adds its return address at OFF. PREV is the previous record
// and becomes the next one. The alignment of all records is checked at the end.
//
//	DX all of them, by OR   SI top   DI -text   R8 text span   R9 next unit   R11 factor
//	R13 hash
#define RECORD(PREV, CUR, OFF, STOP) \
	CMPQ	CUR, PREV; \
	JLS	STOP; \
	CMPQ	CUR, SI; \
	JAE	STOP; \
	MOVQ	8(CUR), R12; \
	ADDQ	DI, R12; \
	CMPQ	R12, R8; \
	JAE	STOP; \
	MOVQ	(CUR), PREV; \
	ORQ	CUR, DX; \
	IMULQ	R11, R13; \
	MOVL	R12, OFF(R9); \
	ADDQ	R12, R13

// AFTER handles the end of units of W bytes at record N of a turn, which is not valid.
#define AFTER(N, W, stop, end) \
stop: \
	ADDQ	$(N*W), R9; \
	JMP	end

// LOOP is the loop for units of W bytes.
#define LOOP(W, again, s1, s2, s3, s4, s5, s6, s7) \
again: \
	RECORD(AX, CX, (0*W), even); \
	RECORD(CX, AX, (1*W), s1); \
	RECORD(AX, CX, (2*W), s2); \
	RECORD(CX, AX, (3*W), s3); \
	RECORD(AX, CX, (4*W), s4); \
	RECORD(CX, AX, (5*W), s5); \
	RECORD(AX, CX, (6*W), s6); \
	RECORD(CX, AX, (7*W), s7); \
	ADDQ	$(8*W), R9; \
	CMPQ	R9, R10; \
	JB	again; \
	JMP	even; \
	AFTER(1, W, s1, odd); \
	AFTER(2, W, s2, even); \
	AFTER(3, W, s3, odd); \
	AFTER(4, W, s4, even); \
	AFTER(5, W, s5, odd); \
	AFTER(6, W, s6, even); \
	AFTER(7, W, s7, odd)

// func pack(p *Packed)
TEXT ·pack(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	p+0(FP), R10
	MOVQ	Packed_fp(R10), CX
	MOVQ	Packed_above(R10), AX
	MOVQ	Packed_top(R10), SI
	MOVQ	Packed_negText(R10), DI
	MOVQ	Packed_textSpan(R10), R8
	MOVQ	Packed_at(R10), R9
	MOVQ	Packed_Hash(R10), R13
	MOVQ	$const_HashFactor, R11
	XORL	DX, DX
	CMPQ	Packed_Width(R10), $3
	MOVQ	Packed_end(R10), R10
	JNE	loop4
	LOOP(3, loop3, s31, s32, s33, s34, s35, s36, s37)
	LOOP(4, loop4, s41, s42, s43, s44, s45, s46, s47)
odd:
	MOVQ	AX, CX
even:
	TESTB	$7, DX
	JNE	misaligned
	MOVQ	p+0(FP), R10
	MOVQ	CX, Packed_fp(R10)
	MOVQ	R9, Packed_at(R10)
	MOVQ	R13, Packed_Hash(R10)
	RET
misaligned:
	JMP	·packSlow(SB)
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

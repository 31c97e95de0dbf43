#include "textflag.h"

// func handlerAddress() uintptr
TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	LEAQ	·handler(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func restorerAddress() uintptr
TEXT ·restorerAddress(SB), NOSPLIT, $0-8
	LEAQ	·restorer(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func upperOffset() uint64
TEXT ·upperOffset(SB), NOSPLIT, $0-8
	MOVL	$0xd, AX
	MOVL	$2, CX
	CPUID
	MOVQ	BX, ret+0(FP)
	RET

// handler is called as C code would be: DX is the struct ucontext. It steps over the two bytes
// of UD2, keeps what it finds of register 3, turns the bits of that register in the frame over,
// and has other values in the registers itself.
TEXT ·handler(SB), NOSPLIT|NOFRAME, $0
	ADDQ	$2, (40+16*8)(DX)	// RIP
	MOVQ	(DX), AX
	MOVQ	AX, ·seen+0(SB)
	MOVQ	(40+23*8)(DX), SI	// fpstate
	MOVL	464(SI), AX
	MOVL	AX, ·seen+8(SB)
	MOVL	468(SI), CX
	MOVL	CX, ·seen+12(SB)
	MOVL	-4(SI)(CX*1), AX
	MOVL	AX, ·seen+28(SB)
	MOVQ	472(SI), AX
	MOVQ	AX, ·seen+16(SB)
	MOVL	480(SI), AX
	MOVL	AX, ·seen+24(SB)
	MOVQ	(160+3*16)(SI), AX
	MOVQ	AX, ·seen+32(SB)
	MOVQ	(168+3*16)(SI), AX
	MOVQ	AX, ·seen+40(SB)
	NOTQ	(160+3*16)(SI)
	MOVQ	·upper(SB), BX
	ADDQ	SI, BX
	MOVQ	(3*16)(BX), AX
	MOVQ	AX, ·seen+48(SB)
	MOVQ	(8+3*16)(BX), AX
	MOVQ	AX, ·seen+56(SB)
	NOTQ	(8+3*16)(BX)
	CMPQ	·bare(SB), $0
	JEQ	whole
	MOVL	$0, 464(SI)
whole:
	VPCMPEQB X0, X0, X0
	VINSERTF128 $1, X0, Y0, Y0
	VMOVUPS	Y0, Y7
	BYTE	$0xc3			// RET

TEXT ·restorer(SB), NOSPLIT|NOFRAME, $0
	MOVQ	$15, AX			// rt_sigreturn
	SYSCALL
	INT	$3

// func raise(in, out *[64]uint64)
TEXT ·raise(SB), NOSPLIT, $0-16
	MOVQ	in+0(FP), SI
	MOVQ	out+8(FP), DI
	VMOVDQU	0(SI), Y0
	VMOVDQU	32(SI), Y1
	VMOVDQU	64(SI), Y2
	VMOVDQU	96(SI), Y3
	VMOVDQU	128(SI), Y4
	VMOVDQU	160(SI), Y5
	VMOVDQU	192(SI), Y6
	VMOVDQU	224(SI), Y7
	VMOVDQU	256(SI), Y8
	VMOVDQU	288(SI), Y9
	VMOVDQU	320(SI), Y10
	VMOVDQU	352(SI), Y11
	VMOVDQU	384(SI), Y12
	VMOVDQU	416(SI), Y13
	VMOVDQU	448(SI), Y14
	VMOVDQU	480(SI), Y15
	BYTE	$0x0f; BYTE $0x0b	// UD2
	VMOVDQU	Y0, 0(DI)
	VMOVDQU	Y1, 32(DI)
	VMOVDQU	Y2, 64(DI)
	VMOVDQU	Y3, 96(DI)
	VMOVDQU	Y4, 128(DI)
	VMOVDQU	Y5, 160(DI)
	VMOVDQU	Y6, 192(DI)
	VMOVDQU	Y7, 224(DI)
	VMOVDQU	Y8, 256(DI)
	VMOVDQU	Y9, 288(DI)
	VMOVDQU	Y10, 320(DI)
	VMOVDQU	Y11, 352(DI)
	VMOVDQU	Y12, 384(DI)
	VMOVDQU	Y13, 416(DI)
	VMOVDQU	Y14, 448(DI)
	VMOVDQU	Y15, 480(DI)
	VZEROUPPER
	PXOR	X15, X15
	RET

#include "textflag.h"

// Copies to and from addresses that may fault. Leaves without frames: SP is the
// same at every instruction, so the fault functions can return in their place.

// The first two count in CX units of R8 bytes, followed by R9 bytes, and keep the address of their
// result in R10, so that one fault function serves both.

// func CopyUser(to, from, n uintptr) (left uintptr)
TEXT ·CopyUser(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	left+24(FP), R10
	MOVQ	to+0(FP), DI
	MOVQ	from+8(FP), SI
	MOVQ	n+16(FP), CX
	MOVQ	CX, R9
	SHRQ	$3, CX
	ANDQ	$7, R9
	MOVL	$8, R8
	REP; MOVSQ
	MOVQ	R9, CX
	MOVL	$0, R9
	MOVL	$1, R8
	REP; MOVSB
	MOVQ	$0, (R10)
	RET

// func FillUser(to, n uintptr, word uint64) (left uintptr)
TEXT ·FillUser(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	left+24(FP), R10
	MOVQ	to+0(FP), DI
	MOVQ	n+8(FP), CX
	MOVQ	CX, R9
	SHRQ	$3, CX
	ANDQ	$7, R9
	MOVL	$8, R8
	MOVQ	word+16(FP), AX
	REP; STOSQ
	MOVQ	R9, CX
	MOVL	$0, R9
	MOVL	$1, R8
	REP; STOSB
	MOVQ	$0, (R10)
	RET

// func rangeFault()
TEXT ·rangeFault(SB), NOSPLIT|NOFRAME, $0-0
	IMULQ	R8, CX
	ADDQ	R9, CX
	MOVQ	CX, (R10)
	RET

// The functions for one word keep the address of their result's ok in DI.

// func LoadUser32(a uintptr) (v uint32, ok bool)
TEXT ·LoadUser32(SB), NOSPLIT|NOFRAME, $0-13
	LEAQ	ok+12(FP), DI
	MOVQ	a+0(FP), AX
	MOVL	(AX), CX
	MOVL	CX, v+8(FP)
	MOVB	$1, (DI)
	RET

// func LoadUser64(a uintptr) (v uint64, ok bool)
TEXT ·LoadUser64(SB), NOSPLIT|NOFRAME, $0-17
	LEAQ	ok+16(FP), DI
	MOVQ	a+0(FP), AX
	MOVQ	(AX), CX
	MOVQ	CX, v+8(FP)
	MOVB	$1, (DI)
	RET

// func StoreUser32(a uintptr, v uint32) (ok bool)
TEXT ·StoreUser32(SB), NOSPLIT|NOFRAME, $0-17
	LEAQ	ok+16(FP), DI
	MOVQ	a+0(FP), AX
	MOVL	v+8(FP), CX
	MOVL	CX, (AX)
	MOVB	$1, (DI)
	RET

// func StoreUser64(a uintptr, v uint64) (ok bool)
TEXT ·StoreUser64(SB), NOSPLIT|NOFRAME, $0-17
	LEAQ	ok+16(FP), DI
	MOVQ	a+0(FP), AX
	MOVQ	v+8(FP), CX
	MOVQ	CX, (AX)
	MOVB	$1, (DI)
	RET

// func TryReadMSR(msr uint32) (v uint64, ok bool)
TEXT ·TryReadMSR(SB), NOSPLIT|NOFRAME, $0-17
	LEAQ	ok+16(FP), DI
	MOVL	msr+0(FP), CX
	RDMSR
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, v+8(FP)
	MOVB	$1, (DI)
	RET

// func TryWriteMSR(msr uint32, v uint64) (ok bool)
TEXT ·TryWriteMSR(SB), NOSPLIT|NOFRAME, $0-17
	LEAQ	ok+16(FP), DI
	MOVL	msr+0(FP), CX
	MOVQ	v+8(FP), AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	WRMSR
	MOVB	$1, (DI)
	RET

// func wordFault()
TEXT ·wordFault(SB), NOSPLIT|NOFRAME, $0-0
	MOVB	$0, (DI)
	RET

// func userFixups() (rangeLo, rangeFault, wordLo, wordFault uintptr)
//
// The text of a package is laid out in the order of its files and their functions.
TEXT ·userFixups(SB), NOSPLIT|NOFRAME, $0-32
	LEAQ	·CopyUser(SB), AX
	MOVQ	AX, rangeLo+0(FP)
	LEAQ	·rangeFault(SB), AX
	MOVQ	AX, rangeFault+8(FP)
	LEAQ	·LoadUser32(SB), AX
	MOVQ	AX, wordLo+16(FP)
	LEAQ	·wordFault(SB), AX
	MOVQ	AX, wordFault+24(FP)
	RET

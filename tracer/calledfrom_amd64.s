#include "textflag.h"
#include "go_asm.h"

// Places on the stack are kept as a distance down from the end of the g's stack, or from 0 if the g
// does not say where its stack ends (in kernel context).

// BASE sets R8 to that end, or to 0 if FP is not on that stack.
#define BASE(FP) \
	MOVQ	const_gHi(R14), R8; \
	CMPQ	FP, R8; \
	JAE	nobase; \
	CMPQ	FP, const_gLo(R14); \
	JAE	base; \
nobase: \
	XORL	R8, R8; \
base:

// func startHere() (from uintptr)
TEXT ·startHere(SB), NOSPLIT|NOFRAME, $0-8
	BASE(BP)
	SUBQ	BP, R8
	MOVQ	R8, from+0(FP)
	RET

#define PAD8 \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc; \
	QUAD $0xcccccccccccccccc; QUAD $0xcccccccccccccccc

// func callers(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)
//
//	AX fp   BX its lowest value   SI highest   R8 base   DI pcs   CX how many
//	R9 text   R10 end   R11 the thunk
//
// For a return address that is the exit thunk's, the address of its word is stored, with the
// highest bit set.
TEXT ·callers(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	pcs+0(FP), DI
	MOVQ	text+16(FP), R9
	MOVQ	end+24(FP), R10
	LEAQ	·exitThunk(SB), R11
	XORL	CX, CX
	BASE(BP)
	MOVQ	R8, AX
	SUBQ	from+8(FP), AX
	LEAQ	-16(R8), SI		// without a base: nearly all memory
	MOVQ	SP, BX
loop:
	TESTQ	$7, AX
	JNE	end
	CMPQ	AX, BX
	JB	end
	CMPQ	AX, SI
	JA	end
	MOVQ	8(AX), DX		// may fault
	CMPQ	DX, R11
	JEQ	thunk
	CMPQ	DX, R9
	JBE	end
	CMPQ	DX, R10
	JA	end
	MOVQ	DX, (DI)(CX*8)
next:
	INCQ	CX
	LEAQ	16(AX), BX
	MOVQ	(AX), AX		// may fault
	TESTQ	AX, AX
	JEQ	end
	CMPQ	CX, $const_pieceFrames
	JB	loop
	SUBQ	AX, R8			// there is more
	MOVQ	CX, n+32(FP)
	MOVQ	R8, next+40(FP)
	RET
thunk:
	LEAQ	8(AX), DX
	BTSQ	$63, DX
	MOVQ	DX, (DI)(CX*8)
	JMP	next
end:
	MOVQ	CX, n+32(FP)
	MOVQ	$0, next+40(FP)
	RET
	PAD8; PAD8; PAD8; PAD8; PAD8; PAD8; PAD8; PAD8

// func callersFault(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)
//
// Takes over with all registers unchanged.
TEXT ·callersFault(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	CX, n+32(FP)
	MOVQ	$0, next+40(FP)
	RET

// func callersFixups() (callers, callersFault uintptr)
TEXT ·callersFixups(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	·callers(SB), AX
	MOVQ	AX, callers+0(FP)
	LEAQ	·callersFault(SB), AX
	MOVQ	AX, callersFault+8(FP)
	RET

// func ownTables() (text, lo, hi uintptr)
TEXT ·ownTables(SB), NOSPLIT|NOFRAME, $0-24
	LEAQ	runtime·text(SB), AX
	MOVQ	AX, text+0(FP)
	LEAQ	runtime·pclntab(SB), AX
	MOVQ	AX, lo+8(FP)
	LEAQ	runtime·epclntab(SB), AX
	MOVQ	AX, hi+16(FP)
	RET

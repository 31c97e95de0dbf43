#include "textflag.h"
#include "go_asm.h"

// func callSite() (ra uintptr)
//
//	return address
//	saved BP        <- BP
//	40 bytes        <- SP
TEXT ·callSite(SB), NOSPLIT, $const_siteFrame-8
	CALL	·returnAddress(SB)
	MOVQ	AX, ra+0(FP)
	RET

// func returnAddress()
// It returns it in AX.
TEXT ·returnAddress(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	0(SP), AX
	RET

// func breakWith(sp, fp uintptr) The trap restores all registers, so DX and BX keep the values of
// SP and BP. The breakpoint is in a function of its own that does not change SP.
TEXT ·breakWith(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ	sp+0(FP), AX
	MOVQ	fp+8(FP), CX
	MOVQ	SP, DX
	MOVQ	BP, BX
	MOVQ	AX, SP
	MOVQ	CX, BP
	JMP	·breakHere(SB)

// func breakHere()
TEXT ·breakHere(SB), NOSPLIT|NOFRAME, $0-0
	BYTE	$0xcc
	JMP	·breakDone(SB)

// func breakPC() uintptr RIP after the breakpoint. (The address of the Go function is a wrapper's.)
TEXT ·breakPC(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·breakHere(SB), AX
	INCQ	AX
	MOVQ	AX, ret+0(FP)
	RET

// func breakDone() (XCHGQ, here and below: with a MOVQ, vet would miss the saving of BP.)
TEXT ·breakDone(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	DX, SP
	XCHGQ	BP, BX
	RET

// func wreck(sp, fp, pc uintptr) If the pc is kept, it is that of an invalid opcode.
TEXT ·wreck(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	sp+0(FP), AX
	MOVQ	fp+8(FP), CX
	MOVQ	pc+16(FP), DX
	CMPQ	CX, $const_keep
	JEQ	stack
	XCHGQ	BP, CX
stack:
	CMPQ	AX, $const_keep
	JEQ	go
	MOVQ	AX, SP
go:
	CMPQ	DX, $const_keep
	JEQ	here
	JMP	DX
here:
	JMP	·wreckHere(SB)

// func wreckHere()
TEXT ·wreckHere(SB), NOSPLIT|NOFRAME, $0-0
	UNDEF
	RET

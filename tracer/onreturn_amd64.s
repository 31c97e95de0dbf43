#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func exitThunk()
//
// A function whose return address was replaced returns here. SP is above the word that the RET
// took, which is still there: only the thunk writes below SP, as interrupts have stacks of their
// own. The first instruction moves SP back to that word. From then on every walk sees a function at
// its entry, with that word as its return address.
//
//	true return address in the end
//	BP                   <- BP
//	flags
//	AX BX CX DX SI DI R8 ... R15
//	(to 16)
//	FXSAVE area, 512 bytes
//	16 bytes for the argument
TEXT ·exitThunk(SB), NOSPLIT|NOFRAME, $0
	LEAQ	-8(SP), SP		// keeps the flags
	JMP	·exitBody(SB)

TEXT ·exitBody(SB), NOSPLIT|NOFRAME, $0
	NO_LOCAL_POINTERS
	PUSHQ	BP
	MOVQ	SP, BP
	PUSHFQ
	PUSHQ	AX
	PUSHQ	BX
	PUSHQ	CX
	PUSHQ	DX
	PUSHQ	SI
	PUSHQ	DI
	PUSHQ	R8
	PUSHQ	R9
	PUSHQ	R10
	PUSHQ	R11
	PUSHQ	R12
	PUSHQ	R13
	PUSHQ	R14
	PUSHQ	R15
	LEAQ	8(BP), AX		// the slot
	// ADJSP tells the pc tables: below the slot lie old words, which may look like return
	// addresses.
	ANDQ	$~15, SP
	ADJSP	$(512+16)
	FXSAVE64 16(SP)
	CLD
	MOVQ	AX, 0(SP)
	CALL	·exited(SB)		// its wrapper sets R14 and X15
	FXRSTOR64 16(SP)
	ADJSP	$-(512+16)
	LEAQ	-(15*8)(BP), SP
	POPQ	R15
	POPQ	R14
	POPQ	R13
	POPQ	R12
	POPQ	R11
	POPQ	R10
	POPQ	R9
	POPQ	R8
	POPQ	DI
	POPQ	SI
	POPQ	DX
	POPQ	CX
	POPQ	BX
	POPQ	AX
	POPFQ
	POPQ	BP
	RET

// func exitThunkPC() uintptr
TEXT ·exitThunkPC(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·exitThunk(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func hookFrame() (fp uintptr, moves bool)
TEXT ·hookFrame(SB), NOSPLIT|NOFRAME, $0-9
	MOVQ	BP, fp+0(FP)
	CMPQ	const_gGuard1(R14), $-1	// see bounds
	SETEQ	moves+8(FP)
	RET

// func exitBodyPC() uintptr
TEXT ·exitBodyPC(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·exitBody(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

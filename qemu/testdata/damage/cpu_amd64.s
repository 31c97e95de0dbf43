#include "textflag.h"

// func gdt() uintptr
TEXT ·gdt(SB), NOSPLIT, $16-8
	BYTE $0x0f; BYTE $0x01; BYTE $0x04; BYTE $0x24	// SGDT (SP): limit, base
	MOVQ	2(SP), AX
	MOVQ	AX, ret+0(FP)
	RET

// func idt() uintptr
TEXT ·idt(SB), NOSPLIT, $16-8
	BYTE $0x0f; BYTE $0x01; BYTE $0x0c; BYTE $0x24	// SIDT (SP)
	MOVQ	2(SP), AX
	MOVQ	AX, ret+0(FP)
	RET

// func taskSwitched()
TEXT ·taskSwitched(SB), NOSPLIT, $0-0
	MOVQ	CR0, AX
	ORQ	$(1<<3), AX
	MOVQ	AX, CR0
	XORL	AX, AX
	MOVQ	(AX), AX
	RET

// func noSSE()
TEXT ·noSSE(SB), NOSPLIT, $0-0
	MOVQ	$(1<<5), AX	// PAE, which cannot be cleared
	MOVQ	AX, CR4
	XORL	AX, AX
	MOVQ	(AX), AX
	RET

// func clearGS()
TEXT ·clearGS(SB), NOSPLIT, $0-0
	XORL	AX, AX
	MOVW	AX, GS
	MOVQ	(AX), AX
	RET

// func setGSBase(base uintptr)
TEXT ·setGSBase(SB), NOSPLIT, $0-8
	MOVQ	base+0(FP), AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$0xc0000101, CX
	WRMSR
	RET

// func noWriteProtect()
TEXT ·noWriteProtect(SB), NOSPLIT, $0-0
	MOVQ	CR0, AX
	ANDQ	$~(1<<16), AX
	MOVQ	AX, CR0
	RET

#include "textflag.h"

// func disableWriteProtect()
//
// Interrupts are off until it is on again: no other code may write there.
TEXT ·disableWriteProtect(SB), NOSPLIT, $0-0
	CLI
	MOVQ	CR0, AX
	ANDQ	$~(1<<16), AX
	MOVQ	AX, CR0
	RET

// func enableWriteProtect()
TEXT ·enableWriteProtect(SB), NOSPLIT, $0-0
	MOVQ	CR0, AX
	ORQ	$(1<<16), AX
	MOVQ	AX, CR0
	STI
	RET

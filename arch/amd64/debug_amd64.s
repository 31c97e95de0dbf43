#include "textflag.h"

// The debug registers. The assembler does not know all of them: MOV DRn, AX is 0F 23 /r.

// func setDR(dr0, dr1, dr2, dr3 uintptr)
TEXT ·setDR(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	dr0+0(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xc0	// MOV DR0, AX
	MOVQ	dr1+8(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xc8	// MOV DR1, AX
	MOVQ	dr2+16(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xd0	// MOV DR2, AX
	MOVQ	dr3+24(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xd8	// MOV DR3, AX
	RET

// func readDR6() uint64
TEXT ·readDR6(SB), NOSPLIT|NOFRAME, $0-8
	BYTE	$0x0f; BYTE $0x21; BYTE $0xf0	// MOV AX, DR6
	MOVQ	AX, ret+0(FP)
	RET

// func writeDR6(v uint64)
TEXT ·writeDR6(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xf0	// MOV DR6, AX
	RET

// func writeDR7(v uint64)
TEXT ·writeDR7(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	BYTE	$0x0f; BYTE $0x23; BYTE $0xf8	// MOV DR7, AX
	RET

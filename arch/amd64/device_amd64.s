#include "textflag.h"

// Accesses to registers of devices. Leaves without frames.

// func In16(port uint16) uint16
TEXT ·In16(SB), NOSPLIT|NOFRAME, $0-10
	MOVW	port+0(FP), DX
	INW
	MOVW	AX, ret+8(FP)
	RET

// func Out16(port uint16, v uint16)
TEXT ·Out16(SB), NOSPLIT|NOFRAME, $0-4
	MOVW	port+0(FP), DX
	MOVW	v+2(FP), AX
	OUTW
	RET

// func In32(port uint16) uint32
TEXT ·In32(SB), NOSPLIT|NOFRAME, $0-12
	MOVW	port+0(FP), DX
	INL
	MOVL	AX, ret+8(FP)
	RET

// func Load8(addr uintptr) uint8
TEXT ·Load8(SB), NOSPLIT|NOFRAME, $0-9
	MOVQ	addr+0(FP), AX
	MOVB	(AX), AX
	MOVB	AX, ret+8(FP)
	RET

// func Store8(addr uintptr, v uint8)
TEXT ·Store8(SB), NOSPLIT|NOFRAME, $0-9
	MOVQ	addr+0(FP), AX
	MOVB	v+8(FP), CX
	MOVB	CX, (AX)
	RET

// func Load16(addr uintptr) uint16
TEXT ·Load16(SB), NOSPLIT|NOFRAME, $0-10
	MOVQ	addr+0(FP), AX
	MOVW	(AX), AX
	MOVW	AX, ret+8(FP)
	RET

// func Store16(addr uintptr, v uint16)
TEXT ·Store16(SB), NOSPLIT|NOFRAME, $0-10
	MOVQ	addr+0(FP), AX
	MOVW	v+8(FP), CX
	MOVW	CX, (AX)
	RET

// func Fence()
TEXT ·Fence(SB), NOSPLIT|NOFRAME, $0-0
	MFENCE
	LFENCE
	RET

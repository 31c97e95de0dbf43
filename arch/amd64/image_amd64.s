#include "textflag.h"

// Addresses that only the linker knows.

// func TextBounds() (lo, hi uintptr)
TEXT ·TextBounds(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	runtime·text(SB), AX
	MOVQ	AX, lo+0(FP)
	LEAQ	runtime·etext(SB), AX
	MOVQ	AX, hi+8(FP)
	RET

// func TypesBase() uintptr
TEXT ·TypesBase(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	runtime·types(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func PCTableBounds() (lo, hi uintptr)
TEXT ·PCTableBounds(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	runtime·pclntab(SB), AX
	MOVQ	AX, lo+0(FP)
	LEAQ	runtime·epclntab(SB), AX
	MOVQ	AX, hi+8(FP)
	RET

// func RuntimeEntry() uintptr
TEXT ·RuntimeEntry(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	_rt0_amd64_linux(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func PollWaiters() *uint32
TEXT ·PollWaiters(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	runtime·netpollWaiters(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func Syscall(number, a, b, c, d, e uintptr) (result uintptr)
TEXT ·Syscall(SB), NOSPLIT|NOFRAME, $0-56
	MOVQ	number+0(FP), AX
	MOVQ	a+8(FP), DI
	MOVQ	b+16(FP), SI
	MOVQ	c+24(FP), DX
	MOVQ	d+32(FP), R10
	MOVQ	e+40(FP), R8
	SYSCALL
	MOVQ	AX, result+48(FP)
	RET

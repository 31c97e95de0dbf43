#include "textflag.h"

// Single instructions. Leaves without frames; they touch the stack only for their arguments.

// func In8(port uint16) uint8
TEXT ·In8(SB), NOSPLIT|NOFRAME, $0-9
	MOVW	port+0(FP), DX
	INB
	MOVB	AX, ret+8(FP)
	RET

// func Out8(port uint16, v uint8)
TEXT ·Out8(SB), NOSPLIT|NOFRAME, $0-3
	MOVW	port+0(FP), DX
	MOVB	v+2(FP), AX
	OUTB
	RET

// func InAll(port uint16, p []byte)
TEXT ·InAll(SB), NOSPLIT|NOFRAME, $0-32
	MOVW	port+0(FP), DX
	MOVQ	p_base+8(FP), DI
	MOVQ	p_len+16(FP), CX
	CLD
	REP
	INSB
	RET

// func OutAll(port uint16, p []byte)
TEXT ·OutAll(SB), NOSPLIT|NOFRAME, $0-32
	MOVW	port+0(FP), DX
	MOVQ	p_base+8(FP), SI
	MOVQ	p_len+16(FP), CX
	CLD
	REP
	OUTSB
	RET

// func Out32(port uint16, v uint32)
TEXT ·Out32(SB), NOSPLIT|NOFRAME, $0-8
	MOVW	port+0(FP), DX
	MOVL	v+4(FP), AX
	OUTL
	RET

// func CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·CPUID(SB), NOSPLIT|NOFRAME, $0-24
	MOVL	leaf+0(FP), AX
	MOVL	subleaf+4(FP), CX
	CPUID
	MOVL	AX, eax+8(FP)
	MOVL	BX, ebx+12(FP)
	MOVL	CX, ecx+16(FP)
	MOVL	DX, edx+20(FP)
	RET

// func ReadMSR(msr uint32) uint64
TEXT ·ReadMSR(SB), NOSPLIT|NOFRAME, $0-16
	MOVL	msr+0(FP), CX
	RDMSR
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+8(FP)
	RET

// func WriteMSR(msr uint32, v uint64)
TEXT ·WriteMSR(SB), NOSPLIT|NOFRAME, $0-16
	MOVL	msr+0(FP), CX
	MOVQ	v+8(FP), AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	WRMSR
	RET

// func ReadCR0() uint64
TEXT ·ReadCR0(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	CR0, AX
	MOVQ	AX, ret+0(FP)
	RET

// func WriteCR0(v uint64)
TEXT ·WriteCR0(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	MOVQ	AX, CR0
	RET

// func ReadCR3() uintptr
TEXT ·ReadCR3(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	CR3, AX
	MOVQ	AX, ret+0(FP)
	RET

// func WriteCR3(v uintptr)
TEXT ·WriteCR3(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	MOVQ	AX, CR3
	RET

// func ReadCR4() uint64
TEXT ·ReadCR4(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	CR4, AX
	MOVQ	AX, ret+0(FP)
	RET

// func WriteCR4(v uint64)
TEXT ·WriteCR4(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	v+0(FP), AX
	MOVQ	AX, CR4
	RET

// func Invlpg(addr uintptr)
TEXT ·Invlpg(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	addr+0(FP), AX
	INVLPG	(AX)
	RET

// func ReadTSC() uint64
TEXT ·ReadTSC(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// func Pause()
TEXT ·Pause(SB), NOSPLIT|NOFRAME, $0-0
	PAUSE
	RET

// func Halt()
TEXT ·Halt(SB), NOSPLIT|NOFRAME, $0-0
	HLT
	RET

// func DisableInterrupts()
TEXT ·DisableInterrupts(SB), NOSPLIT|NOFRAME, $0-0
	CLI
	RET

// func EnableInterrupts()
TEXT ·EnableInterrupts(SB), NOSPLIT|NOFRAME, $0-0
	STI
	RET

// func InterruptsEnabled() bool
TEXT ·InterruptsEnabled(SB), NOSPLIT|NOFRAME, $0-1
	PUSHFQ
	POPQ	AX
	SHRQ	$9, AX
	ANDB	$1, AX
	MOVB	AX, ret+0(FP)
	RET

// func Breakpoint()
TEXT ·Breakpoint(SB), NOSPLIT|NOFRAME, $0-0
	INT	$3
	RET

// func TripleFault() An IDT of limit 0 has no gate: neither the trap nor the resulting faults can
// be delivered, and the CPU shuts down (SDM Vol. 3A, 6.15, "Double Fault Exception").
TEXT ·TripleFault(SB), NOSPLIT|NOFRAME, $0-0
	LEAQ	·emptyIDT(SB), AX
	LIDT	(AX)
	INT	$3
	JMP	-1(PC)

GLOBL ·emptyIDT(SB), RODATA|NOPTR, $16

// func Load32(addr uintptr) uint32
TEXT ·Load32(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ	addr+0(FP), AX
	MOVL	(AX), AX
	MOVL	AX, ret+8(FP)
	RET

// func Store32(addr uintptr, v uint32)
TEXT ·Store32(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ	addr+0(FP), AX
	MOVL	v+8(FP), CX
	MOVL	CX, (AX)
	RET

// func ReadRandom() (v uint64, ok bool)
TEXT ·ReadRandom(SB), NOSPLIT|NOFRAME, $0-9
	RDRANDQ	AX
	SETCS	ok+8(FP)
	MOVQ	AX, v+0(FP)
	RET

// func ReadSeed() (v uint64, ok bool)
TEXT ·ReadSeed(SB), NOSPLIT|NOFRAME, $0-9
	RDSEEDQ	AX
	SETCS	ok+8(FP)
	MOVQ	AX, v+0(FP)
	RET

// func Mul64(a, b uint64) (hi, lo uint64)
TEXT ·Mul64(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	a+0(FP), AX
	MULQ	b+8(FP)
	MOVQ	DX, hi+16(FP)
	MOVQ	AX, lo+24(FP)
	RET

// func Div64(hi, lo, den uint64) (quo, rem uint64)
TEXT ·Div64(SB), NOSPLIT|NOFRAME, $0-40
	MOVQ	hi+0(FP), DX
	MOVQ	lo+8(FP), AX
	DIVQ	den+16(FP)
	MOVQ	AX, quo+24(FP)
	MOVQ	DX, rem+32(FP)
	RET

// func SetTrapFlag(on bool) A trap follows each instruction from the one after POPFQ on, here the
// RET.
TEXT ·SetTrapFlag(SB), NOSPLIT|NOFRAME, $0-1
	MOVBLZX	on+0(FP), AX
	SHLQ	$8, AX
	PUSHFQ
	ANDQ	$~0x100, (SP)
	ORQ	AX, (SP)
	POPFQ
	RET

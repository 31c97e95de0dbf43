#include "textflag.h"

// From long mode to the kernel's first Go function.

// Features that compiled code may use (SDM Vol. 2A, CPUID, leaf 7, EBX): BMI1, AVX2 and BMI2, and
// since v4 AVX-512's F, DQ, CD, BW and VL.
#ifdef GOAMD64_v3
#define needs	(1<<3 | 1<<5 | 1<<8)
#endif
#ifdef GOAMD64_v4
#define needs	(1<<3 | 1<<5 | 1<<8 | 1<<16 | 1<<17 | 1<<28 | 1<<30 | 1<<31)
#endif

// func start()
//
// Called on the boot stack, which is painted below. start makes an ordinary frame, so it is part of
// every trace that ends where the boot began:
//
//	return address into boot.long
//	BP of boot.long               <- BP
//	16 bytes for arguments        <- SP
TEXT ·start(SB), NOSPLIT, $16-0
#ifdef needs
	// All code of the program, and of the kernel, may use these; without them the first use would
	// be an invalid opcode, even in the panic path.
	MOVL	$7, AX
	XORL	CX, CX
	CPUID
	ANDL	$needs, BX
	CMPL	BX, $needs
	JNE	old
	MOVL	$1, AX
	CPUID
	ANDL	$(1<<12 | 1<<22 | 1<<28), CX	// FMA, MOVBE, AVX
	CMPL	CX, $(1<<12 | 1<<22 | 1<<28)
	JNE	old
#endif
	MOVQ	·StackLo(SB), AX
	MOVQ	AX, 0(SP)
	LEAQ	github·com∕zeroframe∕zeroframe∕kernel∕percpu·first(SB), AX
	MOVQ	AX, 8(SP)
	CALL	github·com∕zeroframe∕zeroframe∕arch∕amd64·SetGo(SB)
	MOVQ	github·com∕zeroframe∕zeroframe∕kernel·earlyFunc(SB), DX
	MOVQ	(DX), CX
	CALL	CX
	RET
#ifdef needs
old:
	LEAQ	·tooOld(SB), DI
next:
	MOVL	$(0x3f8+5), DX		// COM1's line status: bit 5 when the last byte has gone on
	INB
	TESTB	$0x20, AX
	JEQ	next
	MOVB	(DI), AX
	TESTB	AX, AX
	JEQ	dead
	MOVL	$0x3f8, DX
	OUTB
	ADDQ	$1, DI
	JMP	next
dead:
	MOVL	$(0x3f8+5), DX		// bit 6 when the last byte is out
	INB
	TESTB	$0x40, AX
	JEQ	dead
	MOVL	$0xf4, DX	// QEMU's debug-exit device: it reads as 0 where there is one
	INB
	TESTB	AX, AX
	JNE	halt
	MOVL	$0x21, AX
	OUTL
halt:
	HLT
	JMP	halt

DATA ·tooOld+0(SB)/8, $"zerofram"
DATA ·tooOld+8(SB)/8, $"e: built"
DATA ·tooOld+16(SB)/8, $" with GO"
DATA ·tooOld+24(SB)/8, $"AMD64=v3"
DATA ·tooOld+32(SB)/8, $" or high"
DATA ·tooOld+40(SB)/8, $"er, for "
DATA ·tooOld+48(SB)/8, $"a newer "
DATA ·tooOld+56(SB)/8, $"CPU; bui"
DATA ·tooOld+64(SB)/8, $"ld with "
DATA ·tooOld+72(SB)/8, $"a lower "
DATA ·tooOld+80(SB)/8, $"one\r\n"
GLOBL ·tooOld(SB), RODATA|NOPTR, $88
#endif

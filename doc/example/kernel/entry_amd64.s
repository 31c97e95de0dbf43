#include "textflag.h"
#include "go_asm.h"

// From the loader to Go. A multiboot or PVH loader enters here in 32-bit protected mode,
// with paging off and EBX leading to its information block. The assembler writes 64-bit
// code; everything before long has the same encoding, or the wanted meaning, in
// 32-bit mode.

// Page tables and the stack of the 32-bit part lie in low RAM, which every PC has.
#define TABLES 0x70000

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	CLI
	CLD
	MOVL	$TABLES, SP

	// Four pages: PML4, PDPT, PD, and the PT of the first 2 MiB.
	MOVL	$TABLES, DI
	XORL	AX, AX
	MOVL	$(4*1024), CX
	REP; STOSL
	MOVL	$TABLES, DX
	LEAL	(0x1000+3)(DX), AX
	MOVL	AX, (DX)		// PML4[0] -> PDPT
	LEAL	(0x2000+3)(DX), AX
	MOVL	AX, 0x1000(DX)		// PDPT[0] -> PD
	LEAL	(0x3000+3)(DX), AX
	MOVL	AX, 0x2000(DX)		// PD[0] -> PT
	// The first GiB at its own addresses. Page 0 stays unmapped, so a nil pointer faults.
	MOVL	$0x1003, AX		// present, writable
	LEAL	0x3008(DX), DI
small:
	MOVL	AX, (DI)
	ADDL	$8, DI
	ADDL	$0x1000, AX
	CMPL	AX, $0x200003
	JNE	small
	MOVL	$0x200083, AX		// present, writable, 2 MiB
	LEAL	0x2008(DX), DI
large:
	MOVL	AX, (DI)
	ADDL	$8, DI
	ADDL	$0x200000, AX
	CMPL	AX, $0x40000083
	JNE	large

	// CR4: PAE, OSFXSR, OSXMMEXCPT. CR3. EFER.LME. CR0: PG, MP, not EM, TS.
	// (Intel SDM Vol. 3A, 9.8.5.)
	MOVL	$(1<<5 | 1<<9 | 1<<10), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xe0	// MOVL AX, CR4
	BYTE	$0x0f; BYTE $0x22; BYTE $0xda	// MOVL DX, CR3
	MOVL	$0xc0000080, CX
	RDMSR
	ORL	$(1<<8), AX
	WRMSR
	BYTE	$0x0f; BYTE $0x20; BYTE $0xc0	// MOVL CR0, AX
	ANDL	$~(1<<2 | 1<<3), AX
	ORL	$(1<<31 | 1<<1), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xc0	// MOVL AX, CR0

	// A far return through the new GDT enters 64-bit mode. CALL and POP tell where the
	// code runs; in 32-bit mode LEAL sym(SB) is sym minus the address after the LEAL,
	// which is 7 bytes after the CALL for the first, 13 for the second.
	//
	//	selector
	//	address of long   <- SP at RETF
	//	base of the GDT
	//	limit (upper half of a word)   <- SP+2 at LGDT
	BYTE	$0xe8; LONG $0		// CALL the next instruction
	POPQ	BP			// 1 byte
	LEAL	·long(SB), DI		// 6 bytes
	LEAL	·gdt(SB), SI		// 6 bytes
	LEAL	7(BP)(DI*1), DI
	LEAL	13(BP)(SI*1), SI
	PUSHQ	$8			// 32-bit: PUSHL
	PUSHQ	DI
	PUSHQ	SI
	PUSHQ	$(5*8-1)<<16
	BYTE	$0x0f; BYTE $0x01; BYTE $0x54; BYTE $0x24; BYTE $0x02	// LGDT 2(SP)
	LEAL	8(SP), SP
	BYTE	$0xcb			// RETF, 32-bit operands

// long is the first 64-bit code. The boot stack that it makes, from the top down:
//
//	0   return address of long: none
//	0   frame pointer of long's caller: none   <- BP
//	    return address into long               CALL start
//	painted down to the stack's lowest word
TEXT ·long(SB), NOSPLIT|NOFRAME, $0
	MOVL	$0x10, AX
	MOVW	AX, DS
	MOVW	AX, ES
	MOVW	AX, SS
	MOVL	BX, BX
	MOVQ	BX, ·loaderInfo(SB)

	// Compiled Go has its g in R14, and reloads it from FS:-8 after it calls assembly.
	LEAQ	·fakeG(SB), R14
	MOVQ	R14, ·tls(SB)
	LEAQ	·tls+8(SB), AX
	XORL	DX, DX
	MOVL	$0xc0000100, CX		// FS base
	WRMSR

	LEAQ	·bootStack(SB), DI
	MOVQ	$const_signature, AX
	MOVL	$(const_stackSize/8), CX
	REP; STOSQ
	JMP	outermost	// (without a jump, vet reports the next lines as a clobbered frame pointer)

outermost:
	MOVQ	DI, SP
	XORL	BP, BP
	PUSHQ	$0
	PUSHQ	BP
	MOVQ	SP, BP
	CALL	·start(SB)
	HLT
	JMP	-1(PC)

#include "textflag.h"
#include "go_asm.h"

// From the loader to Go.
//
// entry is the image's one entry address, in 32-bit protected mode with paging
// off, flat segments and interrupts off:
//
//	multiboot 1   EAX = 0x2badb002, EBX = multiboot information
//	PVH           EBX = struct hvm_start_info (magic 0x336ec578 in its first word)
//
// (Multiboot Specification 0.6.96, 3.2; Xen public/arch-x86/hvm/start_info.h.)
// The same file run by Linux enters here in 64-bit mode and goes on to the Go
// runtime.
//
// The assembler writes 64-bit code. What stands in the 32-bit part has the same
// encoding, or the wanted meaning, in both modes; a test disassembles it in
// 32-bit mode. Moves to and from control registers and other instructions for
// which the assembler would choose a prefix are spelled out as bytes.
//
// There is no stack yet: neither loader promises one. To find out where it runs
// (CALL; POP), entry borrows the first word of the loader's information block
// as a stack of one word and puts it back.

// ADDR sets reg to the address of sym. BP is the address just behind here's
// CALL; LEAL gives, in 32-bit mode, sym less the address of the next instruction.
// Between the POP and the end of LEAL lie 1+6 bytes. Needs ESP.
#define ADDR(sym, reg) \
	BYTE $0xe8; LONG $0; /* CALL the next instruction */ \
	POPQ	BP; \
	LEAL	sym(SB), reg; \
	LEAL	7(BP)(reg*1), reg

// COM1's transmit holding register: for the one message of the 32-bit part.
#define COM1 0x3f8

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVL	AX, SI			// the loader's magic
	XORL	AX, AX
	BYTE	$0x40; BYTE $0x90	// 32-bit: INCL AX; NOP. 64-bit: a NOP with a prefix.
	TESTL	AX, AX
	JNE	protected
	JMP	_rt0_amd64_linux(SB)	// under an operating system

protected:
	CLI
	CLD
	MOVL	(BX), DX
	LEAL	4(BX), SP
	ADDR(·tables(SB), DI)
	MOVL	DX, (BX)

	// EDI = seven pages, page-aligned: PML4, PDPT, four PDs, and one whose end
	// is the stack of the rest of the 32-bit part.
	ADDL	$4095, DI
	ANDL	$~4095, DI
	LEAL	(7*4096)(DI), SP

	// Long mode (CPUID 0x80000001, EDX bit 29)? EBX is kept in EBP.
	MOVL	BX, BP
	MOVL	$0x80000000, AX
	CPUID
	CMPL	AX, $0x80000001
	JCS	nolong
	MOVL	$0x80000001, AX
	CPUID
	TESTL	$(1<<29), DX
	JEQ	nolong
	MOVL	BP, BX

	// The first 4 GiB, identity-mapped in pages of 2 MiB, writable. This holds
	// until the kernel has built the real tables.
	MOVL	DI, DX			// PML4
	XORL	AX, AX
	MOVL	$(6*1024), CX
	REP; STOSL			// (the bytes are those of 32-bit REP STOSD)
	LEAL	(4096+3)(DX), AX
	MOVL	AX, (DX)		// PML4[0] -> PDPT
	LEAL	(2*4096+3)(DX), AX
	MOVL	AX, 4096(DX)		// PDPT[0..3] -> PDs
	ADDL	$4096, AX
	MOVL	AX, (4096+8)(DX)
	ADDL	$4096, AX
	MOVL	AX, (4096+16)(DX)
	ADDL	$4096, AX
	MOVL	AX, (4096+24)(DX)
	LEAL	(2*4096)(DX), DI
	MOVL	$0x83, AX		// present, writable, 2 MiB
	MOVL	$2048, CX
fill:
	MOVL	AX, (DI)
	ADDL	$8, DI
	ADDL	$0x200000, AX
	SUBL	$1, CX
	JNE	fill

	// CR4: PAE, OSFXSR, OSXMMEXCPT. CR3. EFER.LME. CR0: PG, WP, NE, MP, not EM,
	// TS, CD, NW. (SDM Vol. 3A, 9.8.5.)
	MOVL	$(1<<5 | 1<<9 | 1<<10), AX	// whatever else the loader had on is off
	BYTE	$0x0f; BYTE $0x22; BYTE $0xe0	// MOVL AX, CR4
	BYTE	$0x0f; BYTE $0x22; BYTE $0xda	// MOVL DX, CR3
	MOVL	$0xc0000080, CX
	RDMSR
	ORL	$(1<<8), AX
	WRMSR
	BYTE	$0x0f; BYTE $0x20; BYTE $0xc0	// MOVL CR0, AX
	ANDL	$~(1<<2 | 1<<3 | 1<<29 | 1<<30), AX
	ORL	$(1<<31 | 1<<16 | 1<<5 | 1<<1), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xc0	// MOVL AX, CR0

	// Compatibility mode now. A far return through the new GDT enters 64-bit
	// mode; the GDT's register is made on the stack.
	//
	//	base
	//	limit (upper half of a word)   <- SP+2 at LGDT
	ADDR(·bootGDT(SB), DI)
	PUSHQ	DI				// 32-bit: PUSHL
	PUSHQ	$(3*8-1)<<16			// 32-bit: PUSHL
	BYTE	$0x0f; BYTE $0x01; BYTE $0x54; BYTE $0x24; BYTE $0x02	// LGDT 2(SP)
	ADDR(·long(SB), DI)
	PUSHQ	$8				// code selector
	PUSHQ	DI
	BYTE	$0xcb				// RETF, 32-bit operands

nolong:
	ADDR(·noLongMode(SB), DI)
next:
	MOVL	$(COM1+5), DX		// line status: bit 5 when the last byte has gone on
	INB
	TESTB	$0x20, AX
	JEQ	next
	MOVL	$COM1, DX
	MOVB	(DI), AX
	TESTB	AX, AX
	JEQ	dead
	OUTB
	ADDL	$1, DI
	JMP	next
dead:
	HLT
	JMP	dead

// long is the first 64-bit code. ESI is the loader's magic, EBX its information.
//
// The boot stack it makes, from the top down (StackHi):
//
//	0   return address of long: none
//	0   frame pointer of long's caller: none   <- BP
//	    return address into long               CALL start
//	painted down to StackLo
TEXT ·long(SB), NOSPLIT|NOFRAME, $0
	MOVL	$0x10, AX
	MOVW	AX, DS
	MOVW	AX, ES
	MOVW	AX, SS
	XORL	AX, AX
	MOVW	AX, FS
	MOVW	AX, GS
	MOVL	SI, SI
	MOVQ	SI, ·magic(SB)
	MOVL	BX, BX
	MOVQ	BX, ·info(SB)

	// The stack begins at the first page boundary behind a guard page.
	LEAQ	·stack(SB), DI
	ADDQ	$(2*4096-1), DI
	ANDQ	$~4095, DI
	MOVQ	DI, ·StackLo(SB)
	LEAQ	const_StackSize(DI), BX
	MOVQ	BX, ·StackHi(SB)
	MOVQ	$const_Signature, AX
	MOVQ	$(const_StackSize/8), CX
	CLD
	REP; STOSQ
	JMP	outermost	// (vet takes what follows for a clobbered frame pointer, but behind a jump)

outermost:
	MOVQ	BX, SP
	XORL	BP, BP
	PUSHQ	$0
	PUSHQ	BP
	MOVQ	SP, BP
	CALL	github·com∕zeroframe∕zeroframe∕kernel·start(SB)
	HLT
	JMP	-1(PC)

// Static data of the 32-bit part.
DATA ·bootGDT+0(SB)/8, $0
DATA ·bootGDT+8(SB)/8, $0x00af9b000000ffff	// 64-bit code
DATA ·bootGDT+16(SB)/8, $0x00cf93000000ffff	// data
GLOBL ·bootGDT(SB), RODATA|NOPTR, $24

DATA ·noLongMode+0(SB)/8, $"zerofram"
DATA ·noLongMode+8(SB)/8, $"e: this "
DATA ·noLongMode+16(SB)/8, $"CPU has "
DATA ·noLongMode+24(SB)/8, $"no 64-bi"
DATA ·noLongMode+32(SB)/8, $"t mode\r\n"
GLOBL ·noLongMode(SB), RODATA|NOPTR, $48

// PML4, PDPT, four PDs, a page of stack, and room to align them.
GLOBL ·tables(SB), NOPTR, $(8*4096)

// A guard page, the stack, and room to align them.
GLOBL ·stack(SB), NOPTR, $(const_StackSize + 2*4096)

#include "textflag.h"
#include "go_asm.h"

// From the loader to Go.
//
// entry is the image's one entry address, in 32-bit protected mode with paging off, flat segments
// and interrupts off:
//
//	multiboot 1   EAX = 0x2badb002, EBX = multiboot information
//	PVH           EBX = struct hvm_start_info (magic 0x336ec578 in its first word)
//
// (Multiboot Specification 0.6.96, 3.2; Xen public/arch-x86/hvm/start_info.h.) The same file run by
// Linux enters here in 64-bit mode and goes on to the Go runtime.
//
// The assembler writes 64-bit code. The instructions in the 32-bit part have the same encoding, or
// the wanted meaning, in both modes; a test disassembles it in 32-bit mode. Moves to and from
// control registers and other instructions for which the assembler would choose a prefix are
// spelled out as bytes.
//
// There is no stack yet: neither loader promises one. To find out where it runs (CALL; POP), entry
// borrows the first word of the loader's information block as a stack of one word and puts it back.

// ADDR sets reg to the address of sym. BP is the address just after here's CALL; LEAL gives, in
// 32-bit mode, sym minus the address of the next instruction. Between the POP and the end of LEAL
// lie 1+6 bytes. Needs ESP.
#define ADDR(sym, reg) \
	BYTE $0xe8; LONG $0; /* CALL the next instruction */ \
	POPQ	BP; \
	LEAL	sym(SB), reg; \
	LEAL	7(BP)(reg*1), reg

// COM1's transmit holding register: for the messages of the 32-bit part.
#define COM1 0x3f8

// RAM that every machine has, used only for the numbers in messages.
#define LOW 0x7000

// QEMU's debug-exit device, and the value that it gets (kernel/fault/end.go).
#define EXITPORT 0xf4
#define EXITTRACE 0x21

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
	ADDR(runtime·end(SB), CX)
	MOVL	DX, (BX)

	// A loader may have put the image where there is less RAM than that, without an error. Then the
	// tables below, and the stacks, would be nowhere.
	SUBL	$4, CX
	ANDL	$~3, CX
	MOVL	(CX), AX
	MOVL	AX, DX
	NOTL	DX
	MOVL	DX, (CX)
	CMPL	(CX), DX
	JNE	noram
	MOVL	AX, (CX)
	CMPL	(CX), AX
	JNE	noram

	// EDI = seven pages, page-aligned: PML4, PDPT, four PDs, and one whose end is the stack of the
	// rest of the 32-bit part.
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

	// The first 4 GiB at their own addresses and in the direct map (arch/amd64/paging.go), in
	// pages of 2 MiB, writable. This holds until the kernel has built the real tables.
	MOVL	DI, DX			// PML4
	XORL	AX, AX
	MOVL	$(6*1024), CX
	REP; STOSL			// (the bytes are those of 32-bit REP STOSD)
	LEAL	(4096+3)(DX), AX
	MOVL	AX, (DX)		// PML4[0] -> PDPT, which serves both
	MOVL	AX, const_directTop(DX)
	LEAL	(2*4096+3)(DX), AX
	MOVL	AX, 4096(DX)		// PDPT[0..3] -> PDs
	MOVL	AX, (4096+const_directNext)(DX)
	ADDL	$4096, AX
	MOVL	AX, (4096+8)(DX)
	MOVL	AX, (4096+const_directNext+8)(DX)
	ADDL	$4096, AX
	MOVL	AX, (4096+16)(DX)
	MOVL	AX, (4096+const_directNext+16)(DX)
	ADDL	$4096, AX
	MOVL	AX, (4096+24)(DX)
	MOVL	AX, (4096+const_directNext+24)(DX)
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
	MOVL	$(1<<5 | 1<<9 | 1<<10), AX	// everything else that the loader turned on is off
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

	// Compatibility mode now. A far return through the new GDT enters 64-bit mode; the value for
	// the GDT's register is built on the stack.
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

	// Errors that cannot be reported otherwise: the line of the last panic stage (tracer/wire.go).
	// In a message, a byte n below ' ' other than CR and LF stands for the number at LOW+4*n.
nolong:
	MOVL	$LOW, SP
	ADDR(·noLongMode(SB), DI)
	JMP	message
noram:
	// RAM up to the end and half a MiB (as tools/machine/image has it), in MiB, each decimal
	// digit in four bits.
	MOVL	$LOW, SP
	MOVL	CX, 8(SP)
	LEAL	(0x80000 + 0x100000 - 1)(CX), AX
	SHRL	$20, AX
	XORL	BX, BX
	XORL	CX, CX
decimal:
	XORL	DX, DX
	MOVL	$10, SI
	DIVL	SI
	SHLL	CX, DX
	ORL	DX, BX
	ADDL	$4, CX
	TESTL	AX, AX
	JNE	decimal
	MOVL	BX, 12(SP)
	ADDR(·noRAM(SB), DI)
message:
	ADDR(·entry(SB), CX)
	MOVL	CX, 4(SP)
	XORL	BP, BP			// digits of CX that are left
next:
	TESTL	BP, BP
	JNE	digit
	XORL	AX, AX
	MOVB	(DI), AX
	TESTB	AX, AX
	JEQ	dead
	ADDL	$1, DI
	CMPL	AX, $10
	JCC	put
	MOVL	(SP)(AX*4), CX
	MOVL	$8, BP
trim:
	TESTL	$0xf0000000, CX
	JNE	digit
	SHLL	$4, CX
	SUBL	$1, BP
	JNE	trim
	MOVL	$1, BP
digit:
	SUBL	$1, BP
	ROLL	$4, CX
	MOVL	CX, AX
	ANDL	$15, AX
	ADDL	$0x30, AX
	CMPL	AX, $0x3a
	JCS	put
	ADDL	$39, AX
put:
	MOVL	AX, SI
wait:
	MOVL	$(COM1+5), DX		// line status: bit 5 when the last byte has gone on
	INB
	TESTB	$0x20, AX
	JEQ	wait
	MOVL	$COM1, DX
	MOVL	SI, AX
	OUTB
	JMP	next
dead:
	MOVL	$(COM1+5), DX		// bit 6 when the last one is out
	INB
	TESTB	$0x40, AX
	JEQ	dead
	MOVL	$EXITPORT, DX		// it reads as 0, and as 0xff if it is not there
	INB
	TESTB	AX, AX
	JNE	halt
	MOVL	$EXITTRACE, AX
	OUTL
halt:
	HLT
	JMP	halt

// long is the first 64-bit code. ESI is the loader's magic, EBX its information.
//
// The boot stack that it makes, from the top down (StackHi):
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
	MOVQ	$const_directMap, AX
	MOVQ	AX, github·com∕zeroframe∕zeroframe∕arch∕amd64·direct(SB)

	// The stack begins at the first page boundary after a guard page.
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
	JMP	outermost	// (vet takes what follows for a clobbered frame pointer, except after a jump)

outermost:
	MOVQ	BX, SP
	XORL	BP, BP
	PUSHQ	$0
	PUSHQ	BP
	MOVQ	SP, BP
	CALL	·start(SB)
	HLT
	JMP	-1(PC)

// Static data of the 32-bit part.
DATA ·bootGDT+0(SB)/8, $0
DATA ·bootGDT+8(SB)/8, $0x00af9b000000ffff	// 64-bit code
DATA ·bootGDT+16(SB)/8, $0x00cf93000000ffff	// data
GLOBL ·bootGDT(SB), RODATA|NOPTR, $24

// The messages are in the text, because there may be no RAM for data.

#define CH(c) BYTE $c

TEXT ·noLongMode(SB), NOSPLIT|NOFRAME, $0
	CH('z'); CH('f'); CH('1'); CH(' '); CH('l'); CH('a'); CH('s'); CH('t'); CH(' ')
	CH('p'); CH('a'); CH('n'); CH('i'); CH('c'); CH(' '); CH('0'); CH('x'); CH(1); CH(' ')
	CH('z'); CH('e'); CH('r'); CH('o'); CH('f'); CH('r'); CH('a'); CH('m'); CH('e'); CH(':'); CH(' ')
	CH('t'); CH('h'); CH('i'); CH('s'); CH(' '); CH('C'); CH('P'); CH('U'); CH(' ')
	CH('h'); CH('a'); CH('s'); CH(' '); CH('n'); CH('o'); CH(' ')
	CH('6'); CH('4'); CH('-'); CH('b'); CH('i'); CH('t'); CH(' ')
	CH('m'); CH('o'); CH('d'); CH('e'); CH(13); CH(10); CH(0)

TEXT ·noRAM(SB), NOSPLIT|NOFRAME, $0
	CH('z'); CH('f'); CH('1'); CH(' '); CH('l'); CH('a'); CH('s'); CH('t'); CH(' ')
	CH('p'); CH('a'); CH('n'); CH('i'); CH('c'); CH(' '); CH('0'); CH('x'); CH(1); CH(' ')
	CH('z'); CH('e'); CH('r'); CH('o'); CH('f'); CH('r'); CH('a'); CH('m'); CH('e'); CH(':'); CH(' ')
	CH('t'); CH('h'); CH('e'); CH(' '); CH('i'); CH('m'); CH('a'); CH('g'); CH('e'); CH(' ')
	CH('e'); CH('n'); CH('d'); CH('s'); CH(' '); CH('w'); CH('h'); CH('e'); CH('r'); CH('e'); CH(' ')
	CH('t'); CH('h'); CH('e'); CH('r'); CH('e'); CH(' '); CH('i'); CH('s'); CH(' ')
	CH('n'); CH('o'); CH(' '); CH('R'); CH('A'); CH('M'); CH(','); CH(' ')
	CH('a'); CH('t'); CH(' '); CH('0'); CH('x'); CH(2); CH(':'); CH(' ')
	CH('t'); CH('h'); CH('e'); CH(' '); CH('m'); CH('a'); CH('c'); CH('h'); CH('i'); CH('n'); CH('e'); CH(' ')
	CH('n'); CH('e'); CH('e'); CH('d'); CH('s'); CH(' '); CH(3); CH(' ')
	CH('M'); CH('i'); CH('B'); CH(' '); CH('a'); CH('t'); CH(' ')
	CH('l'); CH('e'); CH('a'); CH('s'); CH('t'); CH(' '); CH('('); CH('Q'); CH('E'); CH('M'); CH('U'); CH(':'); CH(' ')
	CH('-'); CH('m'); CH(' '); CH(3); CH(')'); CH(13); CH(10); CH(0)

// PML4, PDPT, four PDs, a page of stack, and room to align them.
GLOBL ·tables(SB), NOPTR, $(8*4096)

// A guard page, the stack, and room to align them.
GLOBL ·stack(SB), NOPTR, $(const_StackSize + 2*4096)

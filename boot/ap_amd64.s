#include "textflag.h"
#include "go_asm.h"

// From a CPU's start to Go: the code of a CPU that another one started (SDM Vol. 3A, 8.4.4).
//
// apCode is copied to the start of a page below 1 MiB, whose end ap.go fills in: the CPU begins
// there in 16-bit mode, with CS = page / 16 and IP = 0. The first 48 bytes are 16-bit code. What
// follows is 32-bit code as in entry_amd64.s, where each instruction has the same encoding in both
// modes; a test disassembles both. EBX is the page's address throughout.
//
// In each mode the CPU first writes into the page that it has come there. From 32-bit code on, an
// exception leads to code in the page that records it and halts, on a stack there. Without that it
// would be a triple fault, which would end the machine.

// func apCode()
TEXT ·apCode(SB), NOSPLIT|NOFRAME, $0
	BYTE $0xfa					// CLI
	BYTE $0xfc					// CLD
	BYTE $0x66; BYTE $0x31; BYTE $0xdb		// XORL BX, BX
	BYTE $0x8c; BYTE $0xcb				// MOVW CS, BX
	BYTE $0x8e; BYTE $0xdb				// MOVW BX, DS
	BYTE $0xc6; BYTE $0x06; WORD $const_APStage; BYTE $const_AP16	// MOVB $AP16, APStage
	BYTE $0x66; BYTE $0xc1; BYTE $0xe3; BYTE $4	// SHLL $4, BX
	BYTE $0x66; BYTE $0x0f; BYTE $0x01; BYTE $0x16; WORD $const_apGDTR	// LGDT apGDTR
	BYTE $0x0f; BYTE $0x20; BYTE $0xc0		// MOVL CR0, AX
	BYTE $0x0c; BYTE $0x01				// ORB $1, AX: protected mode
	BYTE $0x0f; BYTE $0x22; BYTE $0xc0		// MOVL AX, CR0
	BYTE $0x66; BYTE $0xff; BYTE $0x2e; WORD $const_apJump32	// LJMP *apJump32
	LONG $0xf4f4f4f4; LONG $0xf4f4f4f4; WORD $0xf4f4; BYTE $0xf4	// (never reached)

	// +48: protected mode.
	MOVL	$const_apData, AX
	MOVW	AX, DS
	MOVW	AX, ES
	MOVW	AX, SS
	LEAL	const_apStackTop(BX), SP
	BYTE	$0x0f; BYTE $0x01; BYTE $0x9b; LONG $const_apIDTR32	// LIDT apIDTR32(BX)
	MOVB	$const_AP32, const_APStage(BX)

	// As in entry_amd64.s.
	MOVL	$(1<<5 | 1<<9 | 1<<10), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xe0	// MOVL AX, CR4
	MOVL	const_apRoot(BX), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xd8	// MOVL AX, CR3
	MOVL	$0xc0000080, CX
	RDMSR
	ORL	$(1<<8), AX
	WRMSR
	BYTE	$0x0f; BYTE $0x01; BYTE $0x9b; LONG $const_apIDTR64	// LIDT apIDTR64(BX): paging makes gates longer
	BYTE	$0x0f; BYTE $0x20; BYTE $0xc0	// MOVL CR0, AX
	ANDL	$~(1<<2 | 1<<3 | 1<<29 | 1<<30), AX
	ORL	$(1<<31 | 1<<16 | 1<<5 | 1<<1), AX
	BYTE	$0x0f; BYTE $0x22; BYTE $0xc0	// MOVL AX, CR0
	BYTE	$0xff; BYTE $0xab; LONG $const_APJump64	// LJMP *APJump64(BX)

// apLong is the first 64-bit code. The stack that it makes, from the top down:
//
//	0   return address of apLong: none
//	0   frame pointer of apLong's caller: none   <- BP
//	    return address into apLong               CALL apStart
//
// The page is free for the next CPU as soon as apMain says that this one runs.
TEXT ·apLong(SB), NOSPLIT|NOFRAME, $0
	MOVL	BX, BX
	XORL	AX, AX
	MOVW	AX, FS
	MOVW	AX, GS
	MOVB	$const_AP64, const_APStage(BX)
	MOVQ	const_apTop(BX), SP
	MOVQ	const_apLo(BX), AX
	MOVQ	const_apRecord(BX), CX
	MOVQ	const_apMain(BX), BX
	CLD
	JMP	outermost	// (vet takes what follows for a clobbered frame pointer, except after a jump)

outermost:
	XORL	BP, BP
	PUSHQ	$0
	PUSHQ	BP
	MOVQ	SP, BP
	CALL	·apStart(SB)
	HLT
	JMP	-1(PC)

// func apStart()
//
// From here on every trace ends. AX is the stack's lowest address, CX the CPU's record, BX the
// address of the function to call. It makes an ordinary frame:
//
//	return address into apLong
//	BP of apLong                  <- BP
//	16 bytes for arguments        <- SP
TEXT ·apStart(SB), NOSPLIT, $16-0
	MOVQ	AX, 0(SP)
	MOVQ	CX, 8(SP)
	CALL	github·com∕zeroframe∕zeroframe∕arch∕amd64·SetGo(SB)	// leaves BX
	CALL	BX
	RET

// func apAddrs() (code, long, root uintptr)
TEXT ·apAddrs(SB), NOSPLIT|NOFRAME, $0-24
	LEAQ	·apCode(SB), AX
	MOVQ	AX, code+0(FP)
	LEAQ	·apLong(SB), AX
	MOVQ	AX, long+8(FP)
	LEAQ	·tables(SB), AX
	ADDQ	$4095, AX
	ANDQ	$~4095, AX
	MOVQ	AX, root+16(FP)
	RET

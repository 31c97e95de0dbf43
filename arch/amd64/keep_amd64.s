#include "textflag.h"
#include "go_asm.h"

// func restoreKept()
TEXT ·restoreKept(SB), NOSPLIT, $0-0
	CALL	·restore(SB)
	RET

// restore compares all kept memory with its copy, word by word and the last bytes of a piece one by
// one, and writes what differs. It finds the copy through the memory after the GDT, in read-only
// pages, and uses only these pages and the stack:
//
//	8 bytes
//	limit and base of the GDT, 2 + 8 bytes, at 6(SP)   <- SP
//
// It counts the words in the CPU's record, and puts the address of the first there, too. It changes
// AX, BX, CX, DX, SI, DI, and R8 to R12.
TEXT ·restore(SB), NOSPLIT|NOFRAME, $0
	SUBQ	$16, SP
	BYTE	$0x0f; BYTE $0x01; BYTE $0x44; BYTE $0x24; BYTE $0x06	// SGDT 6(SP): limit, base
	MOVQ	8(SP), R10
	ADDQ	$16, SP
	MOVQ	(tables_kept-tables_gdt)(R10), R8
	MOVQ	(tables_numKept-tables_gdt)(R10), R9
	MOVQ	CR0, R11
	MOVQ	R11, R12
	ANDQ	$~(1<<16), R12		// WP: read-only pages can be written to
	MOVQ	R12, CR0
	XORL	AX, AX
	XORL	BX, BX
row:
	TESTQ	R9, R9
	JEQ	done
	MOVQ	kept_at(R8), DI
	MOVQ	kept_size(R8), CX
	MOVQ	kept_copy(R8), SI
	ADDQ	$kept__size, R8
	DECQ	R9
word:
	CMPQ	CX, $8
	JCS	byte
	MOVQ	(SI), DX
	CMPQ	DX, (DI)
	JEQ	same
	TESTQ	AX, AX
	JNE	putword
	MOVQ	DI, BX
putword:
	INCQ	AX
	MOVQ	DX, (DI)
same:
	ADDQ	$8, SI
	ADDQ	$8, DI
	SUBQ	$8, CX
	JMP	word
byte:
	TESTQ	CX, CX
	JEQ	row
	MOVB	(SI), DX
	CMPB	DX, (DI)
	JEQ	samebyte
	TESTQ	AX, AX
	JNE	putbyte
	MOVQ	DI, BX
putbyte:
	INCQ	AX
	MOVB	DX, (DI)
samebyte:
	INCQ	SI
	INCQ	DI
	DECQ	CX
	JMP	byte
done:
	MOVQ	R11, CR0
	TESTQ	AX, AX
	JEQ	none
	MOVQ	(tables_cpu-tables_gdt)(R10), DX
	CMPQ	CPU_restored(DX), $0
	JNE	add
	MOVQ	BX, CPU_restoredAt(DX)
add:
	ADDQ	AX, CPU_restored(DX)
none:
	RET

// trapEntry calls tooDeep, with the CPU's record in SI, when traps are nested too deeply to be
// right: the path to a fatal trap is broken. tooDeep restores what is kept, and lets the trap go
// on. If that has not helped before, giveUp is the end.
TEXT ·tooDeep(SB), NOSPLIT|NOFRAME, $0
	MOVL	$1, CPU_depth(SI)
	PUSHQ	SI
	CALL	·restore(SB)
	POPQ	SI
	INCL	CPU_tooDeep(SI)
	CMPL	CPU_tooDeep(SI), $const_mostTooDeep
	JHI	lost
	RET
lost:
	SUBQ	$16, SP
	BYTE	$0x0f; BYTE $0x01; BYTE $0x44; BYTE $0x24; BYTE $0x06	// SGDT 6(SP)
	MOVQ	8(SP), DX
	ADDQ	$16, SP
	MOVQ	(tables_giveUp-tables_gdt)(DX), CX
	TESTQ	CX, CX
	JEQ	halt			// the boot is not finished
	CALL	CX
halt:
	CLI
	HLT
	JMP	halt

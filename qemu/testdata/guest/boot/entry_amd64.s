// A guest that obeys the serial port. It prints 'M' or 'P' for the protocol that
// booted it and a newline, then does what each byte it receives says:
//
//	e  debug-exit with 0x20: the program exited 0
//	t  debug-exit with 0x21: it ended in a trace
//	p  debug-exit with 0x45: the program exited 5
//	u  debug-exit with 0x01: a value nobody has a meaning for
//	r  triple fault
//	h  halt with interrupts off
//
// and sends any other byte back. It runs in 32-bit mode, without a stack: every
// instruction here has the same encoding in both modes.

#include "textflag.h"

#define COM1 $0x3f8
#define SEND MOVL COM1, DX; OUTB
// A newer QEMU ends a moment after the OUT, so a halt follows each exit.
#define EXIT(v) MOVL $v, AX; MOVL $0xf4, DX; OUTL

TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-0
	// EAX does not tell: qboot, the firmware of QEMU's microvm, enters PVH
	// kernels with multiboot's magic number in it. What EBX points to does.
	CMPL	(BX), $0x336ec578	// hvm_start_info.magic (Xen public/arch-x86/hvm/start_info.h)
	JEQ	pvh
	MOVL	$'M', AX
	JMP	hello

pvh:
	MOVL	$'P', AX

hello:
	SEND
	MOVL	$'\n', AX
	SEND

receive:
	MOVL	$0x3fd, DX	// line status: bit 0, data ready
	INB
	TESTB	$1, AX
	JEQ	receive
	MOVL	COM1, DX
	INB
	CMPB	AX, $'e'
	JEQ	exit
	CMPB	AX, $'t'
	JEQ	trace
	CMPB	AX, $'p'
	JEQ	program
	CMPB	AX, $'u'
	JEQ	unknown
	CMPB	AX, $'r'
	JEQ	reset
	CMPB	AX, $'h'
	JEQ	halt
	SEND
	JMP	receive

exit:
	EXIT(0x20)
	JMP	halt

trace:
	EXIT(0x21)
	JMP	halt

program:
	EXIT(0x45)
	JMP	halt

unknown:
	EXIT(0x01)

halt:
	CLI
	HLT
	JMP	halt

reset:
	// LIDT [0x500], six bytes of zero there or not: INT3 finds no handler.
	BYTE $0xc7; BYTE $0x05; LONG $0x500; LONG $0	// MOVL $0, [0x500]
	BYTE $0xc7; BYTE $0x05; LONG $0x504; LONG $0	// MOVL $0, [0x504]
	BYTE $0x0f; BYTE $0x01; BYTE $0x1d; LONG $0x500	// LIDT [0x500]
	INT	$3
	JMP	reset

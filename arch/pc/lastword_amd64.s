#include "textflag.h"

// The last word of a kernel that can say nothing else.

DATA ·lastText+0(SB)/8, $"\r\nzerofr"
DATA ·lastText+8(SB)/8, $"ame: the"
DATA ·lastText+16(SB)/8, $" panic p"
DATA ·lastText+24(SB)/8, $"ath itse"
DATA ·lastText+32(SB)/8, $"lf has f"
DATA ·lastText+40(SB)/8, $"ailed; g"
DATA ·lastText+48(SB)/8, $"iving up"
DATA ·lastText+56(SB)/8, $"\r\n"
GLOBL ·lastText(SB), RODATA|NOPTR, $64

// func lastWord(port uint16, value uint32)
TEXT ·lastWord(SB), NOSPLIT|NOFRAME, $0-8
	LEAQ	·lastText(SB), DI
next:
	MOVB	(DI), SI
	TESTB	SI, SI
	JEQ	end
	ADDQ	$1, DI
	MOVL	$100000, CX
wait:
	MOVL	$(0x3f8+5), DX		// COM1's line status: bit 5 when it takes a byte
	INB
	TESTB	$0x20, AX
	JNE	put
	SUBQ	$1, CX
	JNE	wait
put:
	MOVL	SI, AX
	MOVL	$0x3f8, DX
	OUTB
	JMP	next
end:
	MOVL	$100000, CX
flush:
	MOVL	$(0x3f8+5), DX		// bit 6 when the last one is out
	INB
	TESTB	$0x40, AX
	JNE	leave
	SUBQ	$1, CX
	JNE	flush
leave:
	MOVWLZX	port+0(FP), DX
	TESTL	DX, DX
	JEQ	done
	INB
	TESTB	AX, AX
	JNE	done			// no such device
	MOVL	value+4(FP), AX
	OUTL
done:
	RET

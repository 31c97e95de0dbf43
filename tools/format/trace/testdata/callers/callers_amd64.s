#include "textflag.h"

// CAPTURE copies pc, SP, BP and what SP points to. LEAQ 0(IP), AX is not to be had
// by its name.
#define CAPTURE \
	BYTE $0x48; BYTE $0x8d; BYTE $0x05; LONG $0; \
	MOVQ AX, ·pc(SB); \
	MOVQ SP, ·sp(SB); \
	MOVQ BP, ·bp(SB); \
	MOVQ SP, SI; \
	LEAQ ·words(SB), DI; \
	MOVQ $64, CX; \
	CLD; \
	REP; MOVSQ

// Functions with a frame of 8 bytes have a frame record, those with NOFRAME none.

TEXT ·nothing(SB), NOSPLIT|NOFRAME, $0-0
	RET

TEXT ·bar(SB), NOSPLIT, $8-0
	CAPTURE
	CALL ·nothing(SB)
	RET

TEXT ·leaf(SB), NOSPLIT|NOFRAME, $0-0
	CAPTURE
	RET

TEXT ·barLeaf(SB), NOSPLIT, $8-0
	CALL ·leaf(SB)
	RET

TEXT ·tail2(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·bar(SB)

TEXT ·tail1(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·tail2(SB)

TEXT ·tail2Leaf(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·leaf(SB)

TEXT ·tail1Leaf(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·tail2Leaf(SB)

TEXT ·barTails(SB), NOSPLIT, $8-0
	CALL ·tail1Leaf(SB)
	RET

TEXT ·tail2BarLeaf(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·barLeaf(SB)

TEXT ·tail1BarLeaf(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·tail2BarLeaf(SB)

TEXT ·tail2BarTails(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·barTails(SB)

TEXT ·tail1BarTails(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·tail2BarTails(SB)

// The six cases: foo is case1 to case6.

TEXT ·case1(SB), NOSPLIT, $8-0
	CALL ·bar(SB)
	RET

TEXT ·case2(SB), NOSPLIT, $8-0
	CALL ·tail1(SB)
	RET

TEXT ·case3(SB), NOSPLIT, $8-0
	CALL ·barLeaf(SB)
	RET

TEXT ·case4(SB), NOSPLIT, $8-0
	CALL ·barTails(SB)
	RET

TEXT ·case5(SB), NOSPLIT, $8-0
	CALL ·tail1BarLeaf(SB)
	RET

TEXT ·case6(SB), NOSPLIT, $8-0
	CALL ·tail1BarTails(SB)
	RET

// Where the code proves less.

TEXT ·indirect(SB), NOSPLIT, $8-0
	LEAQ ·tail1(SB), AX
	CALL AX
	RET

TEXT ·eitherA(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·bar(SB)

TEXT ·eitherB(SB), NOSPLIT|NOFRAME, $0-0
	JMP ·bar(SB)

TEXT ·either(SB), NOSPLIT|NOFRAME, $0-0
	TESTQ SP, SP
	JEQ a
	JMP ·eitherB(SB)
a:
	JMP ·eitherA(SB)

TEXT ·ambiguous(SB), NOSPLIT, $8-0
	CALL ·either(SB)
	RET

// A path of jumps leads from callsBar to leaf, but the leaf is called.
TEXT ·callsLeaf(SB), NOSPLIT, $8-0
	CALL ·leaf(SB)
	TESTQ SP, SP
	JNE done
	JMP ·tail2Leaf(SB)
done:
	RET

TEXT ·calls(SB), NOSPLIT, $8-0
	CALL ·callsLeaf(SB)
	RET

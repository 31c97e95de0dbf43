#include "textflag.h"

// The 256 stubs, one for each gate of the IDT, in one function: stub n starts
// at vectors + 12*n. Each leaves an error code and its vector on the stack:
//
//	RIP       pushed by the CPU
//	error     pushed by the CPU, or 0 here
//	vector    <- SP when trapEntry begins
//
// The bytes are spelled out so that each stub takes 12 of them:
//
//	6A 00           PUSHQ $0           (or two NOPs behind the JMP)
//	68 nn 00 00 00  PUSHQ $vector
//	E9 rel32        JMP ·trapEntry(SB)

// V is a vector without error code, E one with it, F one that the FPU may cause.
#define V(n) BYTE $0x6a; BYTE $0; BYTE $0x68; LONG $(n); JMP ·trapEntry(SB)
#define F(n) BYTE $0x6a; BYTE $0; BYTE $0x68; LONG $(n); JMP ·fpuEntry(SB)
#define E(n) BYTE $0x68; LONG $(n); JMP ·trapEntry(SB); BYTE $0x90; BYTE $0x90

#define V8(n) V(n+0); V(n+1); V(n+2); V(n+3); V(n+4); V(n+5); V(n+6); V(n+7)
#define V32(n) V8(n); V8(n+8); V8(n+16); V8(n+24)

TEXT ·vectors(SB), NOSPLIT|NOFRAME, $0
	V(0); V(1)
	BYTE $0x6a; BYTE $0; BYTE $0x68; LONG $2; JMP ·nmiEntry(SB)
	V(3); V(4); V(5); F(6); F(7)
	E(8); V(9); E(10); E(11); E(12); E(13); E(14); V(15)
	V(16); E(17); V(18); V(19); V(20); E(21); V(22); V(23)
	V(24); V(25); V(26); V(27); V(28); E(29); E(30); V(31)
	V32(32); V32(64); V32(96); V32(128); V32(160); V32(192); V32(224)

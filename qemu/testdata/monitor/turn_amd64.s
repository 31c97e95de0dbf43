#include "textflag.h"

DATA	stuck<>+0(SB)/6, $"stuck\n"
GLOBL	stuck<>(SB), RODATA, $6

// func turn()
//
// It says that it is here by a system call of its own, behind which it only turns.
TEXT ·turn(SB), NOSPLIT, $0
	MOVL	$1, AX // write
	MOVL	$1, DI
	LEAQ	stuck<>(SB), SI
	MOVL	$6, DX
	SYSCALL
loop:
	PAUSE
	JMP	loop

#include "textflag.h"

// func turn()
TEXT ·turn(SB), NOSPLIT, $0
loop:
	PAUSE
	JMP	loop

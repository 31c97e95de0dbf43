#include "textflag.h"

// func WriteBackCaches()
TEXT ·WriteBackCaches(SB), NOSPLIT|NOFRAME, $0-0
	WBINVD
	RET

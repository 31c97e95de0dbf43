package tracer

// exitThunkPC returns the address of the exit thunk.
func exitThunkPC() uintptr

// hookFrame returns the frame pointer of its caller, and whether the running stack is a
// goroutine's, which may move.
func hookFrame() (fp uintptr, moves bool)

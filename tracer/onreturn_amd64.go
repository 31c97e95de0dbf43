package tracer

// exitThunkPC returns the address of the exit thunk.
func exitThunkPC() uintptr

// exitBodyPC returns the address that the thunk jumps to.
func exitBodyPC() uintptr

// hookFrame returns the frame pointer of its caller, and whether the running stack belongs to a
// goroutine and so may move.
func hookFrame() (fp uintptr, moves bool)

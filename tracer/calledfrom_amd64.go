package tracer

// startHere returns the place from which callers starts with the function that calls startHere.
//
//go:noescape
func startHere() (from uintptr)

// callers collects the return addresses of the records from the place from on, as long as they are
// in the text. from comes from startHere or from the previous call. next is where to go on, 0 at
// the end. Exit thunks are left as they are on the stack.
//
//go:noescape
func callers(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)

func callersFault(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)

// callersFixups is fixups for callers.
func callersFixups() (callers, callersFault uintptr)

// ownTables returns the address of the text, and the start and the end of the pc table.
func ownTables() (text, lo, hi uintptr)

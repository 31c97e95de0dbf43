package tracer

// startHere returns where callers begins with the function that calls startHere.
//
//go:noescape
func startHere() (from uintptr)

// callers gathers the return addresses of the records from the place from on, as
// startHere or the call before it returned it, while they are in the text. next is where
// to go on, 0 at the end. Exit thunks are left as they are on the stack.
//
//go:noescape
func callers(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)

func callersFault(pcs *[pieceFrames]uintptr, from, text, end uintptr) (n int, next uintptr)

// callersFixups is fixups for that.
func callersFixups() (callers, callersFault uintptr)

// ownTables returns the addresses of the text and of the pc table's start and end.
func ownTables() (text, lo, hi uintptr)

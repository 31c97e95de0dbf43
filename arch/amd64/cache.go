package amd64

// WriteBackCaches writes the caches to RAM and empties them (WBINVD; SDM Vol. 2D), because a reset
// of the machine drops their contents. It takes milliseconds. Early and kernel context.
func WriteBackCaches()

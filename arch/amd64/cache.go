package amd64

// WriteBackCaches writes what the caches hold to RAM and empties them (WBINVD; SDM Vol.
// 2D): a reset of the machine drops what is in them. It takes milliseconds. Early and
// kernel context.
func WriteBackCaches()

package tracer

// paint stores the signature in that many words from base up.
//
//go:noescape
func paint(base, words, signature uintptr)

// unpainted returns the number of the first block of eight words, from base up, that is not all
// signature, or blocks if all are.
//
//go:noescape
func unpainted(base, blocks, signature uintptr) (n uintptr)

package stack

// A stack's limit is what its use cannot exceed: the bound that tools/symbol/stacks proves from the
// image's own code. zf build writes it into this table, an interface between this file and
// tools/machine/image/stacklimits.go, which finds the table by its symbol. Use beyond the limit
// means that the proof, or the stack, is broken.
//
// There is no bound if the code does not show what it calls: on the boot stack of a program whose
// early hook makes such calls, on the interrupt stack with a handler of that kind, and on all
// stacks in an image that zf build has not made. The limit is then the stack's size minus what the
// path to the trace needs.

// The table: a magic number, the number of rows, then the bound of each stack in bytes, in the
// order of the table of stacks; 0 means no bound.
const (
	boundsMagic = 0x6b6361747367667a // "zfgstack" in memory
	boundsHead  = 2                  // words before the first row
)

var stackBounds = [boundsHead + Count]uint64{boundsMagic, Count} // never written

// panicReserve is what the check of the stacks and the path to the panic stack need, in bytes: the
// least that must be left of a stack whose bound is not known. A test of tools/symbol/stacks
// compares it with their bound.
const panicReserve = 2 << 10

// provenLimit returns the limit of stack i, which has that size.
func provenLimit(i int, size uintptr) uintptr {
	if b := uintptr(stackBounds[boundsHead+i]); b != 0 && b <= size-panicReserve {
		return b
	}
	return size - panicReserve
}

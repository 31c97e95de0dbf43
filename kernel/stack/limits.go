package stack

// A stack's limit is what its use cannot exceed: the bound that tools/stacks proves from
// the image's own code. zf build writes it into this table, an interface between this
// file and tools/image/stacklimits.go, which finds it by its symbol. A use beyond the
// limit means that the proof, or the stack, is broken.
//
// There is no bound where the code does not tell what it calls: on the boot stack of a
// program that has put a function with such calls into the early hook, on the interrupt
// stack with a handler of that kind, and on all of them in an image that zf build has
// not made. The limit is then the stack's size less what the way to the trace takes.

// The table: a magic number, the number of rows, then the bound of each stack in bytes,
// in the order of the table of stacks; 0 stands for none.
const (
	boundsMagic = 0x6b6361747367667a // "zfgstack" in memory
	boundsHead  = 2                  // words before the first row
)

var stackBounds = [boundsHead + Count]uint64{boundsMagic, Count} // never written

// panicReserve is what the check of the stacks and the way to the panic stack take, in
// bytes: the least that must be left of a stack whose bound is not known. A test of
// tools/stacks holds it against their bound.
const panicReserve = 2 << 10

// provenLimit returns the limit of stack i of that size.
func provenLimit(i int, size uintptr) uintptr {
	if b := uintptr(stackBounds[boundsHead+i]); b != 0 && b <= size-panicReserve {
		return b
	}
	return size - panicReserve
}

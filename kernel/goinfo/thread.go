package goinfo

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// The runtime's threads: a runtime.m is known by its address, which [G.M] holds.

// readWord is [tracer.ReadWord] for the address of a word, which is aligned.
func readWord(addr uintptr) (w uintptr, ok bool) {
	if addr%wordSize != 0 {
		return 0, false
	}
	return tracer.ReadWord(addr)
}

// Curg returns the address of the runtime.g of the goroutine that the thread m runs or works for; 0
// if it has none. ok is false if it cannot be read. Kernel context, early, goroutine.
func Curg(m uintptr) (g uintptr, ok bool) { return loadPtr(m, mCurg) }

// ProcID returns the thread ID that the operating system gave m; 0 if m has not
// asked yet. Kernel context, early, goroutine.
func ProcID(m uintptr) (tid uint64, ok bool) { return load(m, mProcID) }

// SetMaxStack sets the size in bytes beyond which no goroutine's stack may grow; the runtime then
// dies with "stack overflow". The runtime sets it early in its main goroutine, before any package
// of the program is initialized, so call this after that. If the place is not known, it changes
// nothing and returns false. Kernel context, goroutine.
func SetMaxStack(bytes uintptr) bool {
	size, ceiling := item(maxStackSize), item(maxStackCeiling)
	if size == unknown || ceiling == unknown {
		return false
	}
	if _, ok := readWord(uintptr(size)); !ok {
		return false
	}
	if _, ok := readWord(uintptr(ceiling)); !ok {
		return false
	}
	*(*uintptr)(arch.Pointer(uintptr(size))) = bytes
	*(*uintptr)(arch.Pointer(uintptr(ceiling))) = bytes
	return true
}

package goinfo

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
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

// G0 returns the address of the runtime.g that stands for the runtime's own stack
// on the thread m. ok is false if it cannot be read. Kernel context, early,
// goroutine.
func G0(m uintptr) (g uintptr, ok bool) { return loadPtr(m, mG0) }

// GSignal is [G0] for the stack of signal handlers. Kernel context, early,
// goroutine.
func GSignal(m uintptr) (g uintptr, ok bool) { return loadPtr(m, mGSignal) }

// Curg returns the address of the runtime.g of the goroutine that the thread m
// runs or works for; 0 if it has none. ok is false if it cannot be read. Kernel
// context, early, goroutine.
func Curg(m uintptr) (g uintptr, ok bool) { return loadPtr(m, mCurg) }

// ProcID returns the thread ID that the operating system gave m; 0 if m has not
// asked yet. Kernel context, early, goroutine.
func ProcID(m uintptr) (tid uint64, ok bool) { return load(m, mProcID) }

// MID returns the runtime's own number of m ("m=0"). Kernel context, early,
// goroutine.
func MID(m uintptr) (id uint64, ok bool) { return load(m, mID) }

// Throwing returns how m is about to die of a fatal error: 0 if it is not, a
// larger number the more it is the runtime's own fault. Kernel context, early,
// goroutine.
func Throwing(m uintptr) (level uint64, ok bool) { return load(m, mThrowing) }

// Dying returns how far m has come in dying of a panic or a fatal error: 0 if it
// has not begun, more than 1 if it died again meanwhile. Kernel context, early,
// goroutine.
func Dying(m uintptr) (level uint64, ok bool) { return load(m, mDying) }

// Morebuf returns where the function was called, which m grows a stack for: the
// return address and the stack pointer behind it. It is stale at other times; ok
// is false if it was never set or cannot be read. Kernel context, early,
// goroutine.
func Morebuf(m uintptr) (pc, sp uintptr, ok bool) {
	pc, ok1 := loadPtr(m, mMorebufPC)
	sp, ok2 := loadPtr(m, mMorebufSP)
	return pc, sp, ok1 && ok2 && pc != 0 && sp != 0
}

// SetMaxStack sets the size in bytes beyond which no goroutine's stack may grow;
// the runtime then dies with "stack overflow". The runtime sets it itself early in
// its main goroutine, before any package of the program is initialized, so it must
// be called after that. It reports false, and changes nothing, if the place is not
// known. Kernel context, goroutine.
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
	*(*uintptr)(amd64.Pointer(uintptr(size))) = bytes
	*(*uintptr)(amd64.Pointer(uintptr(ceiling))) = bytes
	return true
}

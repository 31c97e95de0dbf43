package tracer

// How much stack a call uses, and how much there is: by the bounds that the running
// code's g has, a goroutine's or the fake one of a kernel's.

// Words of a runtime.g on which the compiler and the linker depend (runtime/runtime2.go,
// "offset known to liblink"), and what lies below stackguard1 (internal/abi and
// runtime/stack.go: StackGuard).
const (
	gLo     = 0
	gHi     = 8
	gGuard1 = 24
	reserve = 928
)

// Measure calls fn and returns how many bytes of the running stack that has used at
// least, its return address included. It takes four steps: where does the stack end, and
// where is it now; paint all between; call; find the lowest word that is no paint any
// more. ok is false if the stack has moved, as a goroutine's does when it has to grow,
// or has no known end. What the stack's own watermark was is painted over: measure that
// first. Any context.
func Measure(fn func()) (used uintptr, ok bool) {
	lo := bottom()
	if lo == 0 {
		fn()
		return 0, false
	}
	if used = measure(lo, fn); used == 0 || bottom() != lo {
		return 0, false
	}
	return used, true
}

// Need reports whether the running stack has room for so many bytes more, beyond what
// each Go function may count on: for code that must not find out by overflowing. A
// goroutine's stack grows when it has not. Any context.
//
//go:nosplit
func Need(bytes uintptr) bool {
	lo := bottom()
	room := stackPointer() - lo
	return lo != 0 && room >= reserve && bytes <= room-reserve
}

// bottom returns the lowest address of the running stack, or 0.
//
//go:nosplit
func bottom() uintptr {
	lo, guard := bounds()
	switch {
	case guard == 0: // the crash lab has taken it away
		return 0
	case guard != ^uintptr(0): // not a goroutine's
		return guard - reserve
	}
	return lo
}

// bounds returns what the g says: the stack's lowest address, and stackguard1, which is
// all ones for a goroutine.
func bounds() (lo, guard uintptr)

// stackPointer returns what RSP is in the caller, roughly: no more than that.
func stackPointer() uintptr

// measure paints the stack from lo up to itself, calls fn, and returns how many bytes of it
// are no paint any more, or 0 if the stack has moved.
func measure(lo uintptr, fn func()) (used uintptr)

package tracer

// How much stack a call uses, and how much is left, by the bounds in the g of the running code: a
// goroutine's g, or a kernel's fake one.

// Words of a runtime.g that the compiler and the linker depend on (runtime/runtime2.go, "offset
// known to liblink"), and the room below stackguard1 (internal/abi and runtime/stack.go:
// StackGuard).
const (
	gLo     = 0
	gHi     = 8
	gGuard1 = 24
	reserve = 928
)

// Measure calls fn and returns how many bytes of the running stack that has used at least, its
// return address included. It finds the stack's end and the present place, paints everything
// between, calls fn, and finds the lowest word that is no longer paint. ok is false if the stack
// has no known end or has moved, as a goroutine's stack does when it grows. Measure paints over the
// stack's own watermark, so read that first. Any context.
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

// Need reports whether the running stack has room for that many more bytes, beyond what every Go
// function may use without a check. Code calls it if it must not overflow. A goroutine's stack
// grows if it has no room. Any context.
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
	case guard == 0: // the crash lab has cleared it
		return 0
	case guard != ^uintptr(0): // not a goroutine's
		return guard - reserve
	}
	return lo
}

// bounds returns the stack's lowest address and stackguard1 from the g; stackguard1 is all ones for
// a goroutine.
func bounds() (lo, guard uintptr)

// stackPointer returns roughly the caller's RSP, never a higher address.
func stackPointer() uintptr

// measure paints the stack from lo up to itself, calls fn, and returns how many bytes are no longer
// paint, or 0 if the stack has moved.
func measure(lo uintptr, fn func()) (used uintptr)

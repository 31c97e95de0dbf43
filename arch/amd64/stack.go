package amd64

import "unsafe"

// Running a function on another stack so that a walk that starts there finds its way back: the
// switch leaves a trap record on the new stack, with the vector VectorCall, as a trap would.

// VectorCall is the vector in the record of a switch that no trap caused. It equals the tracer's
// constant of that name; the kernel checks that at compile time.
const VectorCall = 256

// OnStack calls f(arg) on the stack lo <= address < top and returns when f
// does. top is a multiple of 16. f must be a top-level function. Early and
// kernel context.
func OnStack(lo, top uintptr, f func(arg uintptr), arg uintptr) {
	old := SetStackGuard(lo)
	onStack(top, EntryOf(f), arg)
	RestoreStackGuard(old)
}

func onStack(top, f, arg uintptr)

// onStackCode bounds onStack.
func onStackCode() (lo, hi uintptr)

// FramePointer returns RBP: the address of the caller's frame record, which holds the frame pointer
// of the caller's caller and, 8 bytes up, the return address. The caller must not be inlined.
func FramePointer() uintptr

// FrameRecord reads a frame record: the saved frame pointer and the return address.
func FrameRecord(fp uintptr) (saved, ra uintptr) {
	p := (*[2]uintptr)(Pointer(fp))
	return p[0], p[1]
}

// EntryOf returns the address of the code of f, a top-level function. Any context.
func EntryOf[F any](f F) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// Pointer converts a machine address to a pointer. Such memory is no part of Go's heap; nothing
// moves or frees it. Any context.
func Pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Package secret keeps bytes that a program marks as secret out of the dump of its memory (core=):
//
//	key := make([]byte, 32)
//	secret.Mark(key)
//
// The bytes themselves are zeros in the dump. Copies are not found: if a program converts the bytes
// to a string, or passes them to a package that copies them, the copies are in the dump, and so is
// anything that was copied before the mark. Marks do not affect traces, which contain some words of
// stacks, or what a hypervisor reads.
//
//	secret.go  Mark, Forget, and the list
//
// The program writes to the list, and the kernel reads it after the program has died (package
// memdump). It imports only sync/atomic, and also runs on Linux, where it does nothing. Goroutine
// context, except [Range].
package secret

import (
	"sync/atomic"
	"unsafe"
)

// Limits.
const (
	// MaxRanges is the largest number of marked ranges.
	MaxRanges = 256
	// MaxBytes is the largest total size of all ranges in bytes.
	MaxBytes = 8 << 20
)

// A span is lo <= address < hi, if hi is above lo; hi is 0 for a free place, and 1 for one that is
// about to be taken.
type span struct{ lo, hi uintptr }

// Never written by the kernel; the program writes it.
var (
	spans  [MaxRanges]span
	marked atomic.Int64
)

// Mark keeps the bytes of b out of dumps, until [Forget]. It reports whether there was room for
// that. It also makes sure that b does not lie on a stack, which would move.
func Mark(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	escape(unsafe.Pointer(unsafe.SliceData(b)))
	if marked.Add(int64(len(b))) > MaxBytes {
		marked.Add(-int64(len(b)))
		return false
	}
	for i := range spans {
		s := &spans[i]
		if atomic.CompareAndSwapUintptr(&s.hi, 0, 1) {
			lo := address(b)
			atomic.StoreUintptr(&s.lo, lo)
			atomic.StoreUintptr(&s.hi, lo+uintptr(len(b)))
			return true
		}
	}
	marked.Add(-int64(len(b)))
	return false
}

// Forget undoes [Mark] of the same bytes. Call it before the memory is used for something else,
// because the garbage collector does not know of marks.
func Forget(b []byte) {
	if len(b) == 0 {
		return
	}
	lo := address(b)
	for i := range spans {
		s := &spans[i]
		if atomic.LoadUintptr(&s.lo) == lo && atomic.CompareAndSwapUintptr(&s.hi, lo+uintptr(len(b)), 0) {
			marked.Add(-int64(len(b)))
			return
		}
	}
}

// escape is called by its address, so that the compiler assumes that it keeps its argument. Never
// written.
var escape = func(unsafe.Pointer) {}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Range returns place i of the list, lo <= address < hi, empty if nothing is marked there; ok is
// false after the last. Any context.
func Range(i int) (lo, hi uintptr, ok bool) {
	if i < 0 || i >= MaxRanges {
		return 0, 0, false
	}
	if lo, hi = spans[i].lo, spans[i].hi; hi <= lo || hi-lo > MaxBytes {
		return 0, 0, true
	}
	return lo, hi, true
}

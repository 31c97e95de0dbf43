// Package secret keeps what a program says is secret out of the dump of its memory (core=):
//
//	key := make([]byte, 32)
//	secret.Mark(key)
//
// The bytes themselves are zeros in the dump. Copies are not found: what a program makes a string of, or
// hands to a package that copies it, is in the dump as well, and so is what was there before it was marked. Traces, which carry
// some words of stacks, and what a hypervisor reads know nothing of it.
//
//	secret.go  Mark, Forget, and the list
//
// The program writes to the list, and the kernel reads it when it has died (package memdump). It imports
// nothing but sync/atomic and works on Linux, too, where it does nothing. Goroutine context, but for [Range].
package secret

import (
	"sync/atomic"
	"unsafe"
)

// Limits.
const (
	// MaxRanges is how many ranges may be marked.
	MaxRanges = 256
	// MaxBytes is how many bytes all of them may have.
	MaxBytes = 8 << 20
)

// A span is lo <= address < hi, if hi is above lo; hi is 0 for a place that is free, and 1 for one that is
// about to be taken.
type span struct{ lo, hi uintptr }

// Never written by the kernel: the program has it.
var (
	spans  [MaxRanges]span
	marked atomic.Int64
)

// Mark keeps the bytes of b out of dumps, until [Forget]. It reports whether there was room for that. b does not
// lie on a stack then, which would move.
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

// Forget undoes [Mark] of the same bytes. It is for memory that is to be used for something else: the
// garbage collector does not know of marks.
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

// escape is called by its address, so that the compiler does not know that it keeps nothing. Never written.
var escape = func(unsafe.Pointer) {}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Range returns place i of the list, lo <= address < hi, empty if nothing is marked there; ok is false behind the last.
// Any context.
func Range(i int) (lo, hi uintptr, ok bool) {
	if i < 0 || i >= MaxRanges {
		return 0, 0, false
	}
	if lo, hi = spans[i].lo, spans[i].hi; hi <= lo || hi-lo > MaxBytes {
		return 0, 0, true
	}
	return lo, hi, true
}

package goinfo

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// Loads from the runtime's memory. It may be damaged, so an address is refused before it is used if
// no object of the runtime can be there, and the load itself reports a fault instead of taking it.

const (
	wordSize  = 8
	firstPage = 4096 // addresses below are nil or nearly so
	maxString = 128  // bytes; the runtime's longest wait reason has 31
)

// load reads a field of the struct at base, of up to 8 bytes, as an unsigned number.
func load(base uintptr, i int) (v uint64, ok bool) {
	f := item(i)
	off, size := uintptr(uint32(f)), uintptr(f>>32)
	if f == unknown || base < firstPage || base%wordSize != 0 {
		return 0, false
	}
	// Fields are aligned, so one word contains the whole field: read no other, which might be on an
	// unmapped page.
	if size == 0 || off%wordSize+size > wordSize {
		return 0, false
	}
	w, ok := tracer.ReadWord((base + off) &^ (wordSize - 1))
	if !ok {
		return 0, false
	}
	v = uint64(w) >> (8 * (off % wordSize))
	if size < wordSize {
		v &= 1<<(8*size) - 1
	}
	return v, true
}

// loadPtr is load for a field that holds an address.
func loadPtr(base uintptr, i int) (p uintptr, ok bool) {
	v, ok := load(base, i)
	return uintptr(v), ok
}

// loadVar reads a variable of 8 bytes.
func loadVar(i int) (v uint64, ok bool) {
	a := item(i)
	if a == unknown {
		return 0, false
	}
	w, ok := tracer.ReadWord(uintptr(a))
	return uint64(w), ok
}

// loadString returns element n of an array of strings of the runtime, or "". array and count are
// items. The bytes are the runtime's own.
func loadString(array, count int, n uint64) string {
	a, c := item(array), item(count)
	if a == unknown || c == unknown || n >= c {
		return ""
	}
	// A string is an address and a length, here as everywhere in Go.
	at := uintptr(a) + uintptr(n)*unsafe.Sizeof("")
	p, ok1 := tracer.ReadWord(at)
	size, ok2 := tracer.ReadWord(at + unsafe.Sizeof(p))
	if !ok1 || !ok2 || p < firstPage || size == 0 || size > maxString || p+size < p {
		return ""
	}
	for w := p &^ (wordSize - 1); w < p+size; w += wordSize {
		if _, ok := tracer.ReadWord(w); !ok {
			return ""
		}
	}
	return unsafe.String((*byte)(arch.Pointer(p)), int(size))
}

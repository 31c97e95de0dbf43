//go:build !amd64

package tracer

import "unsafe"

// Other CPUs walk with the loop in records.go and read memory as Go does: a fault
// is the program's. Zeroframe itself runs on amd64; this is for the host side.

const haveChase = false

func chase(c *chaser, out unsafe.Pointer, max uintptr) {}

// ReadWord reads the 8-byte word at addr, which must be mapped.
func ReadWord(addr uintptr) (word uintptr, ok bool) {
	return *(*uintptr)(pointer(addr)), true
}

// Fixup returns 0: there are no loads to fix up on this CPU.
func Fixup(pc uintptr) (resume uintptr) { return 0 }

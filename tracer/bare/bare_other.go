//go:build !amd64

package bare

import "unsafe"

// Chase is the same loop in Go.
func Chase(fp uintptr, out *uintptr) (n int) {
	for fp != 0 {
		r := *(**[2]uintptr)(unsafe.Pointer(&fp))
		*(*uintptr)(unsafe.Add(unsafe.Pointer(out), n*8)) = r[1]
		fp = r[0]
		n++
	}
	return n
}

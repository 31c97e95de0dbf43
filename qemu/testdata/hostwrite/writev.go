package main

import (
	"os"
	"syscall"
	"unsafe"
)

// writev writes several parts by one call.
func writev(f *os.File, parts ...[]byte) (int, error) {
	vec := make([]syscall.Iovec, len(parts))
	for i, p := range parts {
		vec[i].Base = unsafe.SliceData(p)
		vec[i].SetLen(len(p))
	}
	n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, f.Fd(), uintptr(unsafe.Pointer(&vec[0])), uintptr(len(vec)))
	if errno != 0 {
		return int(n), errno
	}
	return int(n), nil
}

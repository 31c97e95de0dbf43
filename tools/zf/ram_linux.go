package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newRAM returns a file of that size without a name that is to be a machine's RAM, and a path by
// which QEMU can open it. No disk has it.
func newRAM(bytes int64) (file *os.File, path string, err error) {
	fd, err := unix.MemfdCreate("zf-ram", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", fmt.Errorf("memory for a machine: %w", err)
	}
	file = os.NewFile(uintptr(fd), "RAM")
	if err := file.Truncate(bytes); err != nil {
		file.Close()
		return nil, "", fmt.Errorf("memory for a machine: %w", err)
	}
	return file, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), nil
}

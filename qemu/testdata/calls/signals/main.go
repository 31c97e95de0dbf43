// Signals dies of a signal that has nowhere to go, or of a fault: its first argument says why.
package main

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	runtime.LockOSThread()
	text := main
	switch os.Args[1] {
	case "hole":
		stack(0x6000_0000_0000)
	case "bit63":
		stack(1 << 63)
	case "text":
		stack(**(**uint64)(unsafe.Pointer(&text)))
	case "unmapped":
		touch(-1)
	case "none":
		touch(syscall.PROT_NONE)
	case "read":
		touch(syscall.PROT_READ)
	case "handler":
		const withRestorer = 0x04000004
		action := [4]uint64{1 << 62, withRestorer, 1 << 62, 0}
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGUSR1), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	}
	*none = 1
}

// touch writes to memory at an address that nobody else has, mapped without or with the right to
// read, or not at all.
func touch(prot int) {
	at := uintptr(0x6000_0000_0000)
	if prot >= 0 {
		syscall.RawSyscall6(syscall.SYS_MMAP, at, 4096, uintptr(prot), syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_FIXED, ^uintptr(0), 0)
	}
	**(**byte)(unsafe.Pointer(&at)) = 1
}

var none *int

// stack makes the thread take its signals there.
func stack(at uint64) {
	s := [3]uint64{at, 0, 32 << 10}
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&s)), 0, 0)
}

// Signals dies of a signal that has nowhere to go: its first argument says why.
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
	case "handler":
		const withRestorer = 0x04000004
		action := [4]uint64{1 << 62, withRestorer, 1 << 62, 0}
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGUSR1), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	}
	*none = 1
}

var none *int

// stack makes the thread take its signals there.
func stack(at uint64) {
	s := [3]uint64{at, 0, 32 << 10}
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&s)), 0, 0)
}

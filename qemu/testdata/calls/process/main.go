// Process asks what the system says of the process that it is: its file, its terminal,
// what it may do, and whether it can have children.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

// header is struct __user_cap_header_struct.
type header struct {
	version uint32
	pid     int32
}

func capget(h *header, data *[6]uint32) syscall.Errno {
	_, _, e := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(data)), 0)
	return e
}

func main() {
	exe, err := os.Executable()
	fmt.Println("executable", exe == os.Args[0], err)
	_, err = os.OpenFile("/dev/tty", os.O_RDWR, 0)
	fmt.Println("terminal", err)
	fmt.Println("program that is not there", exec.Command("nosuch").Run())

	dir, err := os.MkdirTemp("", "process")
	if err != nil {
		panic(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		panic(err)
	}
	fmt.Println("removed", os.Remove(dir))
	_, err = f.Readdirnames(-1)
	fmt.Println("read", errors.Unwrap(err))

	const version3 = 0x20080522
	for _, h := range []header{{version3, 0}, {version3, -1}, {version3, 1<<31 - 1}, {5, 0}, {0x19980330, 0}} {
		was, data := h, [6]uint32{}
		e := capget(&h, &data)
		fmt.Println("capget", was, "is", h, e)
		was.version = 5
		e = capget(&was, nil)
		fmt.Println("capget asked for the version", was, e)
	}
	fmt.Println("capget without a header", capget(nil, nil))
}

// Identity tries to be somebody else, and says what each call returns.
package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	groups := []uint32{0, 5}
	list := uintptr(unsafe.Pointer(&groups[0]))
	const same, own = 1<<32 - 1, 0
	pid := uintptr(os.Getpid())
	for _, t := range []struct {
		name   string
		number uintptr
		args   [3]uintptr
	}{
		{"setuid 0", syscall.SYS_SETUID, [3]uintptr{0}},
		{"setuid 1000", syscall.SYS_SETUID, [3]uintptr{1000}},
		{"setuid -1", syscall.SYS_SETUID, [3]uintptr{same}},
		{"setgid 0", syscall.SYS_SETGID, [3]uintptr{0}},
		{"setgid 1000", syscall.SYS_SETGID, [3]uintptr{1000}},
		{"setreuid -1 0", syscall.SYS_SETREUID, [3]uintptr{same, 0}},
		{"setreuid 0 1000", syscall.SYS_SETREUID, [3]uintptr{0, 1000}},
		{"setregid 1000 -1", syscall.SYS_SETREGID, [3]uintptr{1000, same}},
		{"setresuid -1 -1 0", syscall.SYS_SETRESUID, [3]uintptr{same, same, 0}},
		{"setresuid 0 0 1000", syscall.SYS_SETRESUID, [3]uintptr{0, 0, 1000}},
		{"setresgid 0 1000 0", syscall.SYS_SETRESGID, [3]uintptr{0, 1000, 0}},
		{"setgroups 2", syscall.SYS_SETGROUPS, [3]uintptr{2, list}},
		{"setpgid of itself", syscall.SYS_SETPGID, [3]uintptr{own, own}},
		{"setpgid of itself by number", syscall.SYS_SETPGID, [3]uintptr{pid, pid}},
		{"setpgid of nobody", syscall.SYS_SETPGID, [3]uintptr{1<<31 - 1, 0}},
		{"setpgid -1", syscall.SYS_SETPGID, [3]uintptr{0, same}},
		{"setsid", syscall.SYS_SETSID, [3]uintptr{}},
	} {
		_, _, e := syscall.RawSyscall(t.number, t.args[0], t.args[1], t.args[2])
		fmt.Printf("%s: %d\n", t.name, int(e))
	}
}

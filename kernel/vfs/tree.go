package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
)

// address returns where b lies. Only for bytes in frames or in the archive: a
// stack can move on the host.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// preset is the tree that Init makes. Numbers of devices are Linux's
// (Documentation/admin-guide/devices.txt). Never written.
var preset = [...]struct {
	path         string
	mode         uint32
	major, minor uint32
}{
	{"/dev", S_IFDIR | 0o755, 0, 0},
	{"/dev/null", S_IFCHR | 0o666, 1, 3},
	{"/dev/zero", S_IFCHR | 0o666, 1, 5},
	{"/dev/random", S_IFCHR | 0o666, 1, 8},
	{"/dev/urandom", S_IFCHR | 0o666, 1, 9},
	{"/dev/tty", S_IFCHR | 0o666, 5, 0},
	{"/etc", S_IFDIR | 0o755, 0, 0},
	{"/proc", S_IFDIR | 0o555, 0, 0},
	{"/root", S_IFDIR | 0o700, 0, 0},
	{"/tmp", S_IFDIR | 0o1777, 0, 0},
}

// Init makes the tree: the root directory, /dev with null, zero, random, urandom
// and tty, and empty /etc, /proc, /root and /tmp. Once, before anything else of
// this package. Errors: ENOSPC (out of frames). Kernel context.
func Init(now int64) Errno {
	if !initBuckets() {
		return ENOSPC
	}
	if newNode(0, S_IFDIR|0o755, now) != Root {
		return ENOSPC
	}
	at(Root).parent = Root
	for i := range preset {
		p := &preset[i]
		var e Errno
		if p.mode&S_IFMT == S_IFDIR {
			_, e = Mkdir(Root, ascii.Bytes(p.path), p.mode, now)
		} else {
			_, e = Mknod(Root, ascii.Bytes(p.path), p.mode, Dev(p.major, p.minor), now)
		}
		if e != 0 {
			return e
		}
	}
	return 0
}

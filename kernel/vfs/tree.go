package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/ascii"
)

// address returns the address of b. It is only for bytes in frames or in the archive, because a
// stack can move on the host.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// preset is the tree that Init makes. Device numbers are Linux's
// (Documentation/admin-guide/devices.txt). Never written.
var preset = [...]struct {
	path         string
	mode         uint32
	major, minor uint32
	to           string // of a symbolic link
}{
	{"/dev", S_IFDIR | 0o755, 0, 0, ""},
	{"/dev/console", S_IFCHR | 0o600, 5, 1, ""},
	{"/dev/fd", S_IFLNK | 0o777, 0, 0, "/proc/self/fd"},
	{"/dev/full", S_IFCHR | 0o666, 1, 7, ""},
	{"/dev/null", S_IFCHR | 0o666, 1, 3, ""},
	{"/dev/ptmx", S_IFCHR | 0o666, 5, 2, ""},
	{"/dev/pts", S_IFDIR | 0o755, 0, 0, ""},
	{"/dev/random", S_IFCHR | 0o666, 1, 8, ""},
	{"/dev/shm", S_IFDIR | 0o1777, 0, 0, ""},
	{"/dev/stderr", S_IFLNK | 0o777, 0, 0, "/proc/self/fd/2"},
	{"/dev/stdin", S_IFLNK | 0o777, 0, 0, "/proc/self/fd/0"},
	{"/dev/stdout", S_IFLNK | 0o777, 0, 0, "/proc/self/fd/1"},
	{"/dev/tty", S_IFCHR | 0o666, 5, 0, ""},
	{"/dev/urandom", S_IFCHR | 0o666, 1, 9, ""},
	{"/dev/zero", S_IFCHR | 0o666, 1, 5, ""},
	{"/etc", S_IFDIR | 0o755, 0, 0, ""},
	{"/proc", S_IFDIR | 0o555, 0, 0, ""},
	{"/root", S_IFDIR | 0o700, 0, 0, ""},
	{"/sys", S_IFDIR | 0o555, 0, 0, ""},
	{"/tmp", S_IFDIR | 0o1777, 0, 0, ""},
}

// Init makes the tree: the root directory, /dev with the usual devices, and empty /etc, /proc,
// /root, /sys and /tmp. Once, before anything else of
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
		switch p.mode & S_IFMT {
		case S_IFDIR:
			_, e = Mkdir(Root, ascii.Bytes(p.path), p.mode, now)
		case S_IFLNK:
			e = AddText(ascii.Bytes(p.path), p.mode, ascii.Bytes(p.to), now)
		default:
			_, e = Mknod(Root, ascii.Bytes(p.path), p.mode, Dev(p.major, p.minor), now)
		}
		if e != 0 {
			return e
		}
	}
	return 0
}

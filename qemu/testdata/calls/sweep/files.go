package main

import (
	"syscall"
	"unsafe"
)

// Calls on descriptors and names of files.

// opened are the descriptors to close after a call.
var opened []int

func keep(fd int, err error) int {
	must(err)
	opened = append(opened, fd)
	return fd
}

// The state of the thread that a call may change.
var (
	mask     uint64
	altStack [3]uint64
)

const (
	setMask = 2 // SIG_SETMASK
	bits    = 8 // bytes in a set of signals
)

// remember notes the state of the thread.
func remember() {
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 0, 0, uintptr(unsafe.Pointer(&mask)), bits, 0, 0)
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&altStack)), 0)
}

// restore takes back what a call has done, or what was made for it.
func restore() {
	for _, fd := range opened {
		syscall.Close(fd)
	}
	opened = opened[:0]
	restoreThread()
	syscall.RawSyscall(syscall.SYS_MUNMAP, hole, 1<<41, 0)
	for i := range usable() {
		usable()[i] = 'a'
	}
}

func restoreThread() {
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&altStack)), 0, 0)
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&mask)), 0, bits, 0, 0)
}

// blockAll lets no signal in until restore.
func blockAll() {
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, words(^uint64(0)), 0, bits, 0, 0)
}

func opener(name string, flags int) func() int {
	return func() int { return keep(syscall.Open(name, flags, 0)) }
}

var (
	file   = opener("file", syscall.O_RDWR)
	folder = opener(".", syscall.O_RDONLY)
	null   = opener("/dev/null", syscall.O_RDWR)
	zero   = opener("/dev/zero", syscall.O_RDWR)
	random = opener("/dev/urandom", syscall.O_RDONLY)
	events = func() int {
		fd, _, e := syscall.RawSyscall(syscall.SYS_EVENTFD2, 1, 0, 0)
		if e != 0 {
			panic(e)
		}
		return keep(int(fd), nil)
	}
	epoll = func() int { return keep(syscall.EpollCreate1(0)) }
)

func timer() int {
	fd, _, e := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, 1, 0, 0)
	if e != 0 {
		panic(e)
	}
	return keep(int(fd), nil)
}

func pipe() (r, w int) {
	var p [2]int
	must(syscall.Pipe2(p[:], 0))
	return keep(p[0], nil), keep(p[1], nil)
}

// full is the reading end of a pipe that has something to read.
func full() int {
	r, w := pipe()
	_, err := syscall.Write(w, make([]byte, 100))
	must(err)
	return r
}

// empty is the writing end of a pipe.
func empty() int {
	_, w := pipe()
	return w
}

// terminal is one: the kernel's own, or with Linux, one that nobody sits at.
func terminal() int {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR, 0)
	if err != nil {
		fd, err = syscall.Open("/dev/ptmx", syscall.O_RDWR, 0)
	}
	return keep(fd, err)
}

// watching is an epoll instance with something to report.
func watching() int {
	e := epoll()
	fd := full()
	must(syscall.EpollCtl(e, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN}))
	return e
}

func transfers() (all []attempt) {
	const few = 8
	for _, f := range []struct {
		name          string
		read, write   func() int
		anyPos, sized bool
	}{
		{"pipe", full, empty, false, true},
		{"file", file, file, true, true},
		{"directory", folder, folder, true, false},
		{"/dev/null", null, null, true, true},
		{"/dev/zero", zero, zero, true, true},
		{"/dev/urandom", random, nil, false, false},
		{"eventfd", events, events, false, false},
		{"socket", fullStream, emptyStream, false, true},
		{"datagram", fullDatagram, nil, false, false},
		{"epoll", epoll, epoll, false, false},
		{"terminal", nil, terminal, false, false},
	} {
		add := func(fd func() int, call string, number uintptr, k kind, bad int, args ...uintptr) {
			if fd != nil {
				all = append(all, with(fd, call+" "+f.name, number, k, bad, args...))
			}
		}
		// A vector whose second part is the bad one.
		part := func(fd func() int, call string, number uintptr, k kind) {
			if fd == nil {
				return
			}
			all = append(all, attempt{call + " part " + f.name, number, k, func(p uintptr) [6]uintptr {
				return [6]uintptr{uintptr(fd()), words(uint64(p), few), 1}
			}}, attempt{call + " second part " + f.name, number, k, func(p uintptr) [6]uintptr {
				return [6]uintptr{uintptr(fd()), words(uint64(room()), 8, uint64(p), few), 2}
			}})
		}
		add(f.read, "read", syscall.SYS_READ, out, 1, 0, few)
		add(f.write, "write", syscall.SYS_WRITE, in, 1, 0, few)
		add(f.read, "readv", syscall.SYS_READV, in, 1, 0, 1)
		add(f.write, "writev", syscall.SYS_WRITEV, in, 1, 0, 1)
		part(f.read, "readv", syscall.SYS_READV, out)
		part(f.write, "writev", syscall.SYS_WRITEV, in)
		if f.sized {
			add(f.read, "read size", syscall.SYS_READ, size, 2, edge)
			add(f.write, "write size", syscall.SYS_WRITE, size, 2, edge)
			all = append(all, attempt{"readv size " + f.name, syscall.SYS_READV, size, func(n uintptr) [6]uintptr {
				return [6]uintptr{uintptr(f.read()), words(edge, uint64(n)), 1}
			}})
		}
		add(f.read, "readv count", syscall.SYS_READV, size, 2, edge)
		if f.anyPos {
			add(f.read, "pread64", syscall.SYS_PREAD64, out, 1, 0, few, 0)
			add(f.write, "pwrite64", syscall.SYS_PWRITE64, in, 1, 0, few, 0)
			add(f.read, "preadv", syscall.SYS_PREADV, in, 1, 0, 1, 0)
			add(f.write, "pwritev", syscall.SYS_PWRITEV, in, 1, 0, 1, 0)
			add(f.read, "pread64 offset", syscall.SYS_PREAD64, size, 3, edge, few)
		}
	}
	const (
		fionbio  = 0x5421
		fionread = 0x541b
	)
	return append(all,
		with(folder, "getdents64", syscall.SYS_GETDENTS64, out, 1, 0, 1000),
		with(folder, "getdents64 size", syscall.SYS_GETDENTS64, size, 2, edge),
		with(file, "fstat", syscall.SYS_FSTAT, out, 1),
		with(full, "fstat pipe", syscall.SYS_FSTAT, out, 1),
		with(file, "fstatfs", syscall.SYS_FSTATFS, out, 1),
		with(full, "ioctl FIONBIO", syscall.SYS_IOCTL, in, 2, fionbio),
		with(full, "ioctl FIONREAD pipe", syscall.SYS_IOCTL, out, 2, fionread),
		with(fullStream, "ioctl FIONREAD socket", syscall.SYS_IOCTL, out, 2, fionread),
		with(terminal, "ioctl FIONREAD terminal", syscall.SYS_IOCTL, out, 2, fionread),
		with(terminal, "ioctl TCGETS", syscall.SYS_IOCTL, out, 2, syscall.TCGETS),
		with(terminal, "ioctl TCSETS", syscall.SYS_IOCTL, in, 2, syscall.TCSETS),
		with(terminal, "ioctl TIOCGWINSZ", syscall.SYS_IOCTL, out, 2, syscall.TIOCGWINSZ),
		attempt{"sendfile offset", syscall.SYS_SENDFILE, in, func(p uintptr) [6]uintptr {
			return [6]uintptr{uintptr(empty()), uintptr(file()), p, 10}
		}},
		attempt{"splice offset", syscall.SYS_SPLICE, in, func(p uintptr) [6]uintptr {
			return [6]uintptr{uintptr(file()), p, uintptr(empty()), 0, 10}
		}},
		attempt{"copy_file_range from", sysCopyRange, in, func(p uintptr) [6]uintptr {
			return [6]uintptr{uintptr(file()), p, uintptr(file()), words(100), 10}
		}},
		attempt{"copy_file_range to", sysCopyRange, in, func(p uintptr) [6]uintptr {
			return [6]uintptr{uintptr(file()), words(100), uintptr(file()), p, 10}
		}},
		with(timer, "timerfd_settime new", syscall.SYS_TIMERFD_SETTIME, in, 2, 0),
		with(timer, "timerfd_settime old", syscall.SYS_TIMERFD_SETTIME, out, 3, 0, words(0, 0, 0, 0)),
		with(timer, "timerfd_gettime", syscall.SYS_TIMERFD_GETTIME, out, 1),
		attempt{"mmap file", syscall.SYS_MMAP, span, func(p uintptr) [6]uintptr {
			return [6]uintptr{p, page, syscall.PROT_READ, syscall.MAP_PRIVATE | syscall.MAP_FIXED, uintptr(file()), 0}
		}},
		attempt{"mmap file size", syscall.SYS_MMAP, size, func(n uintptr) [6]uintptr {
			return [6]uintptr{hole, n, syscall.PROT_NONE, syscall.MAP_PRIVATE, uintptr(file()), 0}
		}},
		attempt{"mmap file offset", syscall.SYS_MMAP, size, func(n uintptr) [6]uintptr {
			return [6]uintptr{hole, page, syscall.PROT_NONE, syscall.MAP_PRIVATE, uintptr(file()), n}
		}},
	)
}

func names() []attempt {
	long := room()
	return []attempt{
		simple("open", syscall.SYS_OPEN, in, 0),
		simple("openat", syscall.SYS_OPENAT, in, 1, cwd),
		simple("openat bad directory", syscall.SYS_OPENAT, in, 1, 999),
		simple("creat", syscall.SYS_CREAT, in, 0),
		simple("stat", syscall.SYS_STAT, in, 0, 0, long),
		simple("stat out", syscall.SYS_STAT, out, 1, fileName),
		simple("lstat", syscall.SYS_LSTAT, in, 0, 0, long),
		simple("lstat out", syscall.SYS_LSTAT, out, 1, fileName),
		simple("lstat out, no file", syscall.SYS_LSTAT, out, 1, noName),
		simple("newfstatat", syscall.SYS_NEWFSTATAT, in, 1, cwd, 0, long, 0),
		simple("newfstatat out", syscall.SYS_NEWFSTATAT, out, 2, cwd, fileName),
		with(file, "newfstatat empty", syscall.SYS_NEWFSTATAT, in, 1, 0, long, 0x1000),
		simple("statx", sysStatx, in, 1, cwd, 0, 0, 0x7ff, long),
		simple("statx out", sysStatx, out, 4, cwd, fileName, 0, 0x7ff),
		simple("openat2", sysOpenat2, in, 1, cwd, 0, words(0, 0, 0), 24),
		simple("openat2 how", sysOpenat2, in, 2, cwd, noName, 0, 24),
		simple("access", syscall.SYS_ACCESS, in, 0),
		simple("faccessat", syscall.SYS_FACCESSAT, in, 1, cwd),
		simple("faccessat2", sysFaccessat2, in, 1, cwd),
		simple("truncate", syscall.SYS_TRUNCATE, in, 0),
		simple("chdir", syscall.SYS_CHDIR, in, 0),
		simple("rename from", syscall.SYS_RENAME, in, 0, 0, noName),
		simple("rename to", syscall.SYS_RENAME, in, 1, noName),
		simple("renameat to", syscall.SYS_RENAMEAT, in, 3, cwd, noName, cwd),
		simple("renameat2 from", sysRenameat2, in, 1, cwd, 0, cwd, noName),
		simple("mkdir", syscall.SYS_MKDIR, in, 0),
		simple("mkdirat", syscall.SYS_MKDIRAT, in, 1, cwd),
		simple("rmdir", syscall.SYS_RMDIR, in, 0),
		simple("unlink", syscall.SYS_UNLINK, in, 0),
		simple("unlinkat", syscall.SYS_UNLINKAT, in, 1, cwd),
		simple("link from", syscall.SYS_LINK, in, 0, 0, noName),
		simple("link to", syscall.SYS_LINK, in, 1, fileName),
		simple("linkat to", syscall.SYS_LINKAT, in, 3, cwd, fileName, cwd),
		simple("symlink target", syscall.SYS_SYMLINK, in, 0, 0, noName),
		simple("symlink", syscall.SYS_SYMLINK, in, 1, fileName),
		simple("symlinkat", syscall.SYS_SYMLINKAT, in, 2, fileName, cwd),
		simple("readlink", syscall.SYS_READLINK, in, 0, 0, long, 100),
		simple("readlink out", syscall.SYS_READLINK, out, 1, cString("/proc/self/exe"), 0, 100),
		simple("readlinkat", syscall.SYS_READLINKAT, in, 1, cwd, 0, long, 100),
		simple("readlinkat size", syscall.SYS_READLINKAT, size, 3, cwd, fileName, edge),
		simple("chmod", syscall.SYS_CHMOD, in, 0, 0, 0o600),
		simple("fchmodat", syscall.SYS_FCHMODAT, in, 1, cwd, 0, 0o600),
		simple("fchmodat2", sysFchmodat2, in, 1, cwd, 0, 0o600),
		simple("chown", syscall.SYS_CHOWN, in, 0),
		simple("lchown", syscall.SYS_LCHOWN, in, 0),
		simple("fchownat", syscall.SYS_FCHOWNAT, in, 1, cwd),
		simple("mknod", syscall.SYS_MKNOD, in, 0, 0, 0o100600),
		simple("mknodat", syscall.SYS_MKNODAT, in, 1, cwd, 0, 0o100600),
		simple("statfs", syscall.SYS_STATFS, in, 0, 0, long),
		simple("statfs out", syscall.SYS_STATFS, out, 1, dot),
		simple("utimensat", syscall.SYS_UTIMENSAT, in, 1, cwd),
		simple("utimensat times", syscall.SYS_UTIMENSAT, in, 2, cwd, fileName),
		with(file, "utimensat descriptor", syscall.SYS_UTIMENSAT, in, 2),
	}
}

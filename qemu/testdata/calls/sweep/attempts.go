package main

import (
	"syscall"
	"unsafe"
)

// The calls, by number, as package linux's table.go has them.

// Numbers that package syscall does not have.
const (
	sysRenameat2   = 316
	sysGetrandom   = 318
	sysFaccessat2  = 439
	sysEpollPwait2 = 441
	sysFchmodat2   = 452
	sysCopyRange   = 326
	sysStatx       = 332
	sysOpenat2     = 437
)

const cwd = ^uintptr(99) // AT_FDCWD

// Names, for the arguments that are good.
var (
	fileName = cString("file")
	noName   = cString("no-such-file")
	dot      = cString(".")
)

func cString(s string) uintptr { return at(append([]byte(s), 0)) }

// kept holds what is only known by its address.
var kept [][]byte

func at(b []byte) uintptr {
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// words returns the address of some words.
func words(w ...uint64) uintptr {
	b := make([]byte, 0, 8*len(w))
	for _, v := range w {
		for range 8 {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	return at(b)
}

func room() uintptr { return at(make([]byte, page)) }

// simple is an attempt in which all but the bad argument is fixed.
func simple(name string, number uintptr, k kind, bad int, args ...uintptr) attempt {
	return attempt{name, number, k, func(p uintptr) (a [6]uintptr) {
		copy(a[:], args)
		a[bad] = p
		return a
	}}
}

// with is an attempt that needs a descriptor, which is made anew for every call and is
// its first argument.
func with(fd func() int, name string, number uintptr, k kind, bad int, args ...uintptr) attempt {
	return attempt{name, number, k, func(p uintptr) (a [6]uintptr) {
		copy(a[1:], args)
		a[0] = uintptr(fd())
		a[bad] = p
		return a
	}}
}

func attempts() []attempt {
	all := transfers()
	all = append(all, names()...)
	all = append(all, sockets()...)
	all = append(all, results()...)
	return append(all, waits()...)
}

// results are calls that are about neither files nor waiting.
func results() []attempt {
	const (
		usr1     = uintptr(syscall.SIGUSR1)
		setName  = 15
		getName  = 16
		getFS    = 0x1003
		setFS    = 0x1002
		vmThread = 0x50f00 // CLONE_VM and what goes with threads
		setTLS   = 0x80000
	)
	return []attempt{
		simple("rt_sigaction new", syscall.SYS_RT_SIGACTION, in, 1, usr1, 0, 0, bits),
		simple("rt_sigaction old", syscall.SYS_RT_SIGACTION, out, 2, usr1, 0, 0, bits),
		simple("rt_sigprocmask new", syscall.SYS_RT_SIGPROCMASK, in, 1, setMask, 0, 0, bits),
		simple("rt_sigprocmask old", syscall.SYS_RT_SIGPROCMASK, out, 2, setMask, 0, 0, bits),
		simple("rt_sigpending", syscall.SYS_RT_SIGPENDING, out, 0, 0, bits),
		simple("sigaltstack new", syscall.SYS_SIGALTSTACK, in, 0),
		attempt{"sigaltstack start", syscall.SYS_SIGALTSTACK, out, func(p uintptr) [6]uintptr {
			blockAll()
			return [6]uintptr{words(uint64(p), 0, 32<<10)}
		}},
		attempt{"sigaltstack size", syscall.SYS_SIGALTSTACK, size, func(n uintptr) [6]uintptr {
			blockAll()
			return [6]uintptr{words(edge, 0, uint64(n))}
		}},
		simple("sigaltstack old", syscall.SYS_SIGALTSTACK, out, 1),
		simple("getitimer", syscall.SYS_GETITIMER, out, 1),
		simple("setitimer new", syscall.SYS_SETITIMER, in, 1),
		simple("setitimer old", syscall.SYS_SETITIMER, out, 2, 0, words(0, 0, 0, 0)),
		simple("timer_create event", syscall.SYS_TIMER_CREATE, in, 1, 1, 0, room()),
		simple("timer_create id", syscall.SYS_TIMER_CREATE, out, 2, 1, 0),
		simple("timer_settime new", syscall.SYS_TIMER_SETTIME, in, 2, 7777, 0),
		simple("uname", syscall.SYS_UNAME, out, 0),
		simple("getcwd", syscall.SYS_GETCWD, out, 0, 0, 100),
		simple("getcwd size", syscall.SYS_GETCWD, size, 1, edge),
		simple("gettimeofday", syscall.SYS_GETTIMEOFDAY, out, 0),
		simple("gettimeofday zone", syscall.SYS_GETTIMEOFDAY, out, 1),
		simple("getrlimit", syscall.SYS_GETRLIMIT, out, 1, 3),
		simple("setrlimit", syscall.SYS_SETRLIMIT, in, 1, 3),
		simple("prlimit64 new", syscall.SYS_PRLIMIT64, in, 2, 0, 3),
		simple("prlimit64 old", syscall.SYS_PRLIMIT64, out, 3, 0, 3),
		simple("getrusage", syscall.SYS_GETRUSAGE, out, 1),
		simple("sysinfo", syscall.SYS_SYSINFO, out, 0),
		simple("times", syscall.SYS_TIMES, out, 0),
		simple("getresuid real", syscall.SYS_GETRESUID, out, 0, 0, room(), room()),
		simple("getresuid saved", syscall.SYS_GETRESUID, out, 2, room(), room()),
		simple("getresgid effective", syscall.SYS_GETRESGID, out, 1, room(), 0, room()),
		simple("prctl name", syscall.SYS_PRCTL, in, 1, setName),
		simple("prctl get name", syscall.SYS_PRCTL, out, 1, getName),
		simple("arch_prctl get", syscall.SYS_ARCH_PRCTL, out, 1, getFS),
		simple("time", syscall.SYS_TIME, out, 0),
		simple("clock_gettime", syscall.SYS_CLOCK_GETTIME, out, 1, 1),
		simple("clock_getres", syscall.SYS_CLOCK_GETRES, out, 1, 1),
		simple("clock_settime", syscall.SYS_CLOCK_SETTIME, in, 1, 0),
		simple("sched_getaffinity", syscall.SYS_SCHED_GETAFFINITY, out, 2, 0, 128),
		simple("sched_setaffinity", syscall.SYS_SCHED_SETAFFINITY, in, 2, 0, 8),
		simple("wait4", syscall.SYS_WAIT4, out, 1, ^uintptr(0)),
		simple("getcpu", sysGetcpu, out, 0),
		simple("getcpu node", sysGetcpu, out, 1),
		simple("getrandom", sysGetrandom, out, 0, 0, 8),
		simple("getrandom size", sysGetrandom, size, 1, edge),
		simple("pipe", syscall.SYS_PIPE, out, 0),
		simple("pipe2", syscall.SYS_PIPE2, out, 0),
		simple("socketpair", syscall.SYS_SOCKETPAIR, out, 3, 1, 1, 0),
		simple("mincore", syscall.SYS_MINCORE, out, 2, edge, page),
		simple("mincore start", syscall.SYS_MINCORE, span, 0, 0, page, room()),
		simple("mincore size", syscall.SYS_MINCORE, size, 1, edge, 0, room()),
		simple("mmap", syscall.SYS_MMAP, span, 0, 0, page, 0, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_FIXED, ^uintptr(0)),
		simple("mmap size", syscall.SYS_MMAP, size, 1, hole, 0, 0, syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0)),
		simple("mprotect", syscall.SYS_MPROTECT, span, 0, 0, page, syscall.PROT_READ),
		simple("mprotect size", syscall.SYS_MPROTECT, size, 1, hole, 0, syscall.PROT_READ|syscall.PROT_WRITE),
		simple("munmap", syscall.SYS_MUNMAP, span, 0, 0, page),
		simple("munmap size", syscall.SYS_MUNMAP, size, 1, hole),
		simple("madvise", syscall.SYS_MADVISE, span, 0, 0, page, 4),
		simple("clone tls", syscall.SYS_CLONE, base, 4, vmThread|setTLS, edge+page/2),
		simple("arch_prctl set", syscall.SYS_ARCH_PRCTL, base, 1, setFS),
	}
}

const sysGetcpu = 309

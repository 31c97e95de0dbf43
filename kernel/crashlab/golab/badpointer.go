package golab

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// System calls with bad pointers: each must be answered with EFAULT.

// A badCall is a system call that takes a pointer as argument number at.
type badCall struct {
	name   string
	number uintptr
	args   [6]uintptr
	at     int
	out    bool // the kernel writes there
}

func badPointerA() {
	var p [2]int
	if err := syscall.Pipe2(p[:], 0); err != nil {
		panic(err)
	}
	if _, err := syscall.Write(p[1], make([]byte, 64)); err != nil { // something to read
		panic(err)
	}
	dir, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		panic(err)
	}
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		panic(err)
	}
	const futexWait, cwd = 0, ^uintptr(99) // AT_FDCWD is -100
	calls := []badCall{
		{"read", syscall.SYS_READ, [6]uintptr{uintptr(p[0]), 0, 8}, 1, true},
		{"write", syscall.SYS_WRITE, [6]uintptr{1, 0, 8}, 1, false},
		{"openat", syscall.SYS_OPENAT, [6]uintptr{cwd}, 1, false},
		{"fstat", syscall.SYS_FSTAT, [6]uintptr{1}, 1, true},
		{"getdents64", syscall.SYS_GETDENTS64, [6]uintptr{uintptr(dir), 0, 512}, 1, true},
		{"clock_gettime", syscall.SYS_CLOCK_GETTIME, [6]uintptr{}, 1, true},
		{"nanosleep", syscall.SYS_NANOSLEEP, [6]uintptr{}, 0, false},
		{"futex", syscall.SYS_FUTEX, [6]uintptr{0, futexWait}, 0, false},
		{"epoll_ctl", syscall.SYS_EPOLL_CTL, [6]uintptr{uintptr(epoll), syscall.EPOLL_CTL_ADD, uintptr(p[0])}, 3, false},
		{"pipe2", syscall.SYS_PIPE2, [6]uintptr{}, 0, true},
		{"getrandom", sysGetrandom, [6]uintptr{0, 8}, 0, true},
		{"rt_sigaction", syscall.SYS_RT_SIGACTION, [6]uintptr{uintptr(syscall.SIGUSR1), 0, 0, 8}, 1, false},
		{"rt_sigaction, old", syscall.SYS_RT_SIGACTION, [6]uintptr{uintptr(syscall.SIGUSR1), 0, 0, 8}, 2, true},
		{"rt_sigprocmask", syscall.SYS_RT_SIGPROCMASK, [6]uintptr{0, 0, 0, 8}, 1, false},
		{"sigaltstack, old", syscall.SYS_SIGALTSTACK, [6]uintptr{}, 1, true},
		{"uname", syscall.SYS_UNAME, [6]uintptr{}, 0, true},
		{"getcwd", syscall.SYS_GETCWD, [6]uintptr{0, 64}, 0, true},
		{"sched_getaffinity", syscall.SYS_SCHED_GETAFFINITY, [6]uintptr{0, 8}, 2, true},
	}
	text := **(**uintptr)(unsafe.Pointer(&nop))
	n, wrong := 0, 0
	for _, c := range calls {
		for _, a := range []uintptr{8, nowhere, 1 << 63, ^uintptr(7), 1<<47 - 4, text} {
			if a == text && !c.out {
				continue
			}
			c.args[c.at] = a
			_, _, e := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4],
				c.args[5])
			n++
			if e != syscall.EFAULT {
				wrong++
				say(c.name + " at 0x" + strconv.FormatUint(uint64(a), 16) + ": error " + strconv.Itoa(int(e)) +
					"; want EFAULT")
			}
		}
	}
	say("bad pointers: " + strconv.Itoa(n) + " calls, " + strconv.Itoa(wrong) + " wrong answers")
	if wrong > 0 {
		os.Exit(1)
	}
}

const sysGetrandom = 318 // not in package syscall

// nop is a function, whose code the kernel must not write to. Crash lab only.
var nop = exitA

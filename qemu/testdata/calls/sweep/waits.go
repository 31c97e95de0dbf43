package main

import "syscall"

// Calls that wait, and would not, since something is there.

func waits() []attempt {
	const (
		futexWait = 0
		futexWake = 1
		in1       = 1 // POLLIN, EPOLLIN
	)
	// A set of polled descriptors, of which one is closed and so has something to say.
	polled := words(999 | in1<<32)
	short := words(0, 1000)
	word := words(1)
	watch := func(name string, op uintptr) attempt {
		return attempt{name, syscall.SYS_EPOLL_CTL, in, func(p uintptr) [6]uintptr {
			return [6]uintptr{uintptr(epoll()), op, uintptr(full()), p}
		}}
	}
	return []attempt{
		simple("poll", syscall.SYS_POLL, out, 0, 0, 1, 0),
		simple("poll size", syscall.SYS_POLL, size, 1, edge),
		simple("ppoll", syscall.SYS_PPOLL, out, 0, 0, 1, short),
		simple("ppoll time", syscall.SYS_PPOLL, in, 2, polled, 1),
		simple("ppoll mask", syscall.SYS_PPOLL, in, 3, polled, 1, short, 0, bits),
		simple("nanosleep", syscall.SYS_NANOSLEEP, in, 0),
		simple("nanosleep rest", syscall.SYS_NANOSLEEP, out, 1, short),
		simple("clock_nanosleep", syscall.SYS_CLOCK_NANOSLEEP, in, 2, 1, 0),
		simple("clock_nanosleep until", syscall.SYS_CLOCK_NANOSLEEP, in, 2, 0, 1),
		simple("futex wait", syscall.SYS_FUTEX, in, 0, 0, futexWait|128, 1),
		simple("futex wait time", syscall.SYS_FUTEX, in, 3, word, futexWait|128, 0),
		simple("futex wake", syscall.SYS_FUTEX, in, 0, 0, futexWake|128, 1),
		simple("rt_sigtimedwait set", syscall.SYS_RT_SIGTIMEDWAIT, in, 0, 0, 0, short, bits),
		signaled("rt_sigtimedwait information", out, 1),
		signaled("rt_sigtimedwait time", in, 2),
		simple("rt_sigsuspend", syscall.SYS_RT_SIGSUSPEND, in, 0, 0, bits),
		with(watching, "epoll_wait", syscall.SYS_EPOLL_WAIT, out, 1, 0, 10, 0),
		with(watching, "epoll_wait count", syscall.SYS_EPOLL_WAIT, size, 2, edge, 0, 0),
		with(watching, "epoll_pwait", syscall.SYS_EPOLL_PWAIT, out, 1, 0, 10, 0),
		with(watching, "epoll_pwait mask", syscall.SYS_EPOLL_PWAIT, in, 4, room(), 10, 0, 0, bits),
		with(watching, "epoll_pwait2", sysEpollPwait2, out, 1, 0, 10, short),
		with(watching, "epoll_pwait2 time", sysEpollPwait2, in, 3, room(), 10),
		watch("epoll_ctl add", syscall.EPOLL_CTL_ADD),
		watch("epoll_ctl del", syscall.EPOLL_CTL_DEL),
		watch("epoll_ctl mod", syscall.EPOLL_CTL_MOD),
	}
}

// signaled is a wait for a signal that has come.
func signaled(name string, k kind, bad int) attempt {
	const usr1 = uint64(syscall.SIGUSR1)
	set := words(1 << (usr1 - 1))
	return attempt{name, syscall.SYS_RT_SIGTIMEDWAIT, k, func(p uintptr) [6]uintptr {
		blockAll()
		must(tgkillSelf())
		a := [6]uintptr{set, 0, 0, bits}
		a[bad] = p
		return a
	}}
}

func tgkillSelf() error {
	_, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGUSR1))
	if e != 0 {
		return e
	}
	return nil
}

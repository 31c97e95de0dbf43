package main

// What waits for a socket, without the runtime between: poll, epoll, and calls that block.

import (
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// pollFD is struct pollfd.
type pollFD struct {
	fd              int32
	events, revents int16
}

// events returns what poll says of a descriptor, as letters.
func events(fd int) string {
	p := pollFD{fd: int32(fd), events: 0x2005}
	syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&p)), 1, 0)
	s := ""
	for _, bit := range []struct {
		mask   int16
		letter string
	}{{1, "i"}, {4, "o"}, {8, "E"}, {0x10, "H"}, {0x20, "N"}, {0x2000, "R"}} {
		if p.revents&bit.mask != 0 {
			s += bit.letter
		}
	}
	return "[" + s + "]"
}

// blocking uses sockets whose calls wait in the kernel, with their thread.
func blocking() {
	// A write of more than any buffer holds returns when all has been written, and a
	// receiving call with MSG_WAITALL when all has come.
	for _, kind := range []string{"unix", "tcp"} {
		var a, b int
		if kind == "unix" {
			a, b = socketpair(syscall.SOCK_STREAM)
		} else {
			a, b = blockingPair()
		}
		const size = 3 << 20
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 8)
		}
		wrote := make(chan int)
		go func() {
			n, _ := syscall.Write(a, data)
			wrote <- n
		}()
		got := make([]byte, size)
		n, _, err := syscall.Recvfrom(b, got[:size-1000], syscall.MSG_WAITALL)
		same := true
		for i := range got[:size-1000] {
			same = same && got[i] == data[i]
		}
		say("%s: %d, %v, equal %t; the writer %d", kind, n, err, same, <-wrote)
		// The end comes before all has.
		syscall.Shutdown(a, syscall.SHUT_WR)
		n, _, err = syscall.Recvfrom(b, got, syscall.MSG_WAITALL)
		say("%s: the rest %d, %v", kind, n, err)
		// Time limits.
		tv := syscall.NsecToTimeval(20e6)
		check(syscall.SetsockoptTimeval(a, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv))
		start := time.Now()
		_, err = syscall.Read(a, got)
		say("%s: SO_RCVTIMEO: %v, too early %t", kind, err, time.Since(start) < 19*time.Millisecond)
		check(syscall.SetsockoptTimeval(b, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &tv))
		cut := false
		for err = nil; err == nil; {
			n, err = syscall.Write(b, data)
			cut = cut || n > 0 && n < size
		}
		say("%s: SO_SNDTIMEO: a part %t, then %v", kind, cut, err)
		// A shutdown wakes who reads.
		tv = syscall.Timeval{}
		c, d := socketpair(syscall.SOCK_STREAM)
		if kind == "tcp" {
			c, d = blockingPair()
		}
		time.AfterFunc(20*time.Millisecond, func() { syscall.Shutdown(c, syscall.SHUT_RDWR) })
		n, err = syscall.Read(c, got)
		say("%s: shut down while reading: %d %v", kind, n, err)
		n, err = syscall.Read(d, got)
		say("%s: its peer: %d %v", kind, n, err)
		closeAll(a, b, c, d)
	}
	// A listener's backlog, full; who waits for room in it gets in.
	ln := must(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))
	addr := &syscall.SockaddrUnix{Name: "@backlog"}
	check(syscall.Bind(ln, addr))
	check(syscall.Listen(ln, 0))
	c1 := must(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))
	c2 := must(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))
	c3 := must(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0))
	say("first: %v", syscall.Connect(c1, addr))
	say("without waiting: %v", syscall.Connect(c3, addr))
	done := make(chan error)
	go func() { done <- syscall.Connect(c2, addr) }()
	time.Sleep(20 * time.Millisecond)
	s1, _ := must2(syscall.Accept(ln))
	say("second: %v", <-done)
	s2, _ := must2(syscall.Accept(ln))
	must(syscall.Write(c2, []byte("second")))
	b := make([]byte, 10)
	n := must(syscall.Read(s2, b))
	say("%q", b[:n])
	// A shutdown wakes who accepts.
	time.AfterFunc(20*time.Millisecond, func() { syscall.Shutdown(ln, syscall.SHUT_RDWR) })
	_, _, err := syscall.Accept(ln)
	say("shut down while accepting: %v", err)
	say("and connecting: %v", syscall.Connect(c3, addr))
	closeAll(ln, c1, c2, c3, s1, s2)
}

// blockingPair is a TCP connection whose calls wait.
func blockingPair() (a, b int) {
	ln := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))
	defer syscall.Close(ln)
	check(syscall.Bind(ln, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(ln, 1))
	a = must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))
	check(syscall.Connect(a, must(syscall.Getsockname(ln))))
	b, _ = must2(syscall.Accept(ln))
	return a, b
}

// epolls looks at what epoll tells, by edges and by levels.
func epolls() {
	const edge = 1 << 31
	ep := must(syscall.EpollCreate1(0))
	wait := func(e int) string {
		var evs [8]syscall.EpollEvent
		n, err := syscall.EpollWait(e, evs[:], 0)
		if err != nil {
			return err.Error()
		}
		s := ""
		for _, ev := range evs[:n] {
			s += " " + string(rune('A'+ev.Fd)) + ":"
			for i, l := range "ipoEH" {
				if ev.Events&(1<<i) != 0 {
					s += string(l)
				}
			}
			if ev.Events&syscall.EPOLLRDHUP != 0 {
				s += "R"
			}
		}
		return "{" + strings.TrimSpace(s) + "}"
	}
	add := func(e, fd int, events uint32, data int32) error {
		return syscall.EpollCtl(e, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events, Fd: data})
	}
	a, b := socketpair(syscall.SOCK_STREAM)
	buf := make([]byte, 100)
	check(add(ep, a, syscall.EPOLLIN|syscall.EPOLLRDHUP|edge, 0))
	say("twice: %v", add(ep, a, syscall.EPOLLIN, 0))
	say("nothing: %s", wait(ep))
	syscall.Write(b, []byte("x"))
	say("a byte: %s, and again: %s", wait(ep), wait(ep))
	syscall.Write(b, []byte("y"))
	say("another: %s, and again: %s", wait(ep), wait(ep))
	check(syscall.EpollCtl(ep, syscall.EPOLL_CTL_MOD, a, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 1}))
	say("by level: %s, and again: %s", wait(ep), wait(ep))
	syscall.Read(a, buf)
	say("read: %s", wait(ep))
	check(syscall.EpollCtl(ep, syscall.EPOLL_CTL_MOD, a, &syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLONESHOT, Fd: 2}))
	syscall.Write(b, []byte("z"))
	say("once: %s, and again: %s", wait(ep), wait(ep))
	// Another instance that watches the first.
	outer := must(syscall.EpollCreate1(0))
	check(add(outer, ep, syscall.EPOLLIN, 25))
	say("outside: %s", wait(outer))
	check(syscall.EpollCtl(ep, syscall.EPOLL_CTL_MOD, a, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 3}))
	say("outside: %s", wait(outer))
	syscall.Read(a, buf)
	woken := make(chan int)
	go func() {
		var evs [1]syscall.EpollEvent
		n, _ := syscall.EpollWait(outer, evs[:], 5000)
		woken <- n
	}()
	time.Sleep(20 * time.Millisecond)
	syscall.Write(b, []byte("w"))
	say("outside, woken: %d", <-woken)
	say("in a circle: %v", add(ep, outer, syscall.EPOLLIN, 0))
	say("itself: %v", add(ep, ep, syscall.EPOLLIN, 0))
	syscall.Close(outer)
	check(syscall.EpollCtl(ep, syscall.EPOLL_CTL_MOD, a, &syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLONESHOT, Fd: 4}))
	say("before the end: %s", wait(ep))
	syscall.Close(b)
	say("the end, told once already: %s", wait(ep))
	check(syscall.EpollCtl(ep, syscall.EPOLL_CTL_MOD, a, &syscall.EpollEvent{Events: syscall.EPOLLRDHUP, Fd: 5}))
	say("the end: %s", wait(ep))
	d := must(syscall.Dup(a))
	syscall.Close(a)
	say("closed, with a copy: %s", wait(ep))
	syscall.Close(d)
	say("without: %s", wait(ep))

	// More than a page of them.
	var fds []int
	for range 300 {
		a, b := socketpair(syscall.SOCK_DGRAM)
		fds = append(fds, a, b)
		if err := add(ep, a, syscall.EPOLLIN|edge, 6); err != nil {
			say("descriptor %d: %v", len(fds), err)
			break
		}
	}
	for _, i := range []int{0, 200, 598} {
		syscall.Write(fds[i+1], nil)
		say("number %d: %s", i, wait(ep))
	}
	closeAll(fds...)
	say("none: %s", wait(ep))
	syscall.Close(ep)
}

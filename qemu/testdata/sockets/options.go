package main

import (
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Options of sockets: what each has at first, what it takes, and what it then has.

// optionLevels are the options of each level that are asked for: those that the kernel has, but for
// a few whose answers depend on the machine.
var optionLevels = []struct {
	level int
	names []int
}{
	{unix.SOL_SOCKET, []int{0, unix.SO_DEBUG, unix.SO_REUSEADDR, unix.SO_TYPE, unix.SO_ERROR, unix.SO_DONTROUTE, unix.SO_BROADCAST, unix.SO_KEEPALIVE, unix.SO_OOBINLINE,
		unix.SO_NO_CHECK, unix.SO_PRIORITY, unix.SO_LINGER, unix.SO_REUSEPORT, unix.SO_PASSCRED, unix.SO_PEERCRED, unix.SO_SNDLOWAT, unix.SO_RCVTIMEO, unix.SO_SNDTIMEO,
		unix.SO_ACCEPTCONN, unix.SO_SNDBUFFORCE, unix.SO_RCVBUFFORCE, unix.SO_MARK,
		unix.SO_PROTOCOL, unix.SO_DOMAIN, unix.SO_BUSY_POLL, 999}},
	{unix.IPPROTO_IP, []int{0, unix.IP_TOS, unix.IP_TTL, unix.IP_HDRINCL, unix.IP_PKTINFO, unix.IP_MTU_DISCOVER, unix.IP_RECVERR, unix.IP_RECVTTL, unix.IP_RECVTOS, unix.IP_MTU,
		unix.IP_FREEBIND, unix.IP_TRANSPARENT, unix.IP_MINTTL, unix.IP_BIND_ADDRESS_NO_PORT, unix.IP_MULTICAST_IF, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_LOOP,
		unix.IP_ADD_MEMBERSHIP, unix.IP_DROP_MEMBERSHIP,
		unix.MCAST_JOIN_GROUP, unix.MCAST_LEAVE_GROUP,
		unix.IP_MULTICAST_ALL, 999}},
	{unix.IPPROTO_TCP, []int{0, unix.TCP_NODELAY, unix.TCP_MAXSEG, unix.TCP_CORK, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT, unix.TCP_SYNCNT,
		unix.TCP_QUICKACK, unix.TCP_THIN_LINEAR_TIMEOUTS, unix.TCP_USER_TIMEOUT, unix.TCP_FASTOPEN, unix.TCP_NOTSENT_LOWAT, 999}},
	{unix.IPPROTO_UDP, []int{0, 999}},
	{unix.IPPROTO_IPV6, []int{0, unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_HOPS, unix.IPV6_MULTICAST_LOOP, unix.IPV6_JOIN_GROUP, unix.IPV6_LEAVE_GROUP, unix.IPV6_MTU_DISCOVER,
		unix.IPV6_RECVERR, unix.IPV6_V6ONLY, 29, 33, unix.MCAST_JOIN_GROUP, unix.MCAST_LEAVE_GROUP, unix.IPV6_RECVPKTINFO, unix.IPV6_RECVHOPLIMIT,
		unix.IPV6_RECVPATHMTU, unix.IPV6_PATHMTU, unix.IPV6_DONTFRAG, unix.IPV6_RECVTCLASS, unix.IPV6_TCLASS, unix.IPV6_AUTOFLOWLABEL, unix.IPV6_MINHOPCOUNT, unix.IPV6_TRANSPARENT,
		unix.IPV6_FREEBIND, 999}},
	{999, []int{1}},
}

func options() {
	for _, s := range []struct {
		what string
		fd   func() int
	}{
		{"tcp4", func() int { return fresh(syscall.AF_INET, syscall.SOCK_STREAM) }},
		{"tcp6", func() int { return fresh(syscall.AF_INET6, syscall.SOCK_STREAM) }},
		{"udp4", func() int { return fresh(syscall.AF_INET, syscall.SOCK_DGRAM) }},
		{"udp6", func() int { return fresh(syscall.AF_INET6, syscall.SOCK_DGRAM) }},
		{"unix", func() int { return fresh(syscall.AF_UNIX, syscall.SOCK_STREAM) }},
		{"unixgram", func() int { return fresh(syscall.AF_UNIX, syscall.SOCK_DGRAM) }},
		{"unixpacket", func() int { return fresh(syscall.AF_UNIX, syscall.SOCK_SEQPACKET) }},
	} {
		for _, r := range optionLevels {
			for _, name := range r.names {
				fd := s.fd()
				line := getOption(fd, r.level, name, 40)
				for _, n := range []int{0, 1, 2, 4, 5} {
					line += " /" + getOption(fd, r.level, name, n)
				}
				for _, v := range []int32{0, 1, 2, -1, 5, 100, 255, 256, 40000} {
					line += fmt.Sprintf("; %d %s %s", v, setOption(fd, r.level, name, word(v)), getOption(fd, r.level, name, 4))
				}
				for _, n := range []int{0, 1, 2, 3, 8} {
					line += fmt.Sprintf("; by %d %s %s", n, setOption(fd, r.level, name, make([]byte, n)), getOption(fd, r.level, name, 4))
				}
				say("%s %d %d: %s", s.what, r.level, name, line)
				syscall.Close(fd)
			}
		}
		// What depends on the machine for other numbers.
		fd := s.fd()
		for _, v := range []int32{0, 1, 5000, 100000} {
			say("%s: buffers for %d: %s %s, %s %s; low water %s %s", s.what, v, setOption(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, word(v)), getOption(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4),
				setOption(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, word(v)), getOption(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4),
				setOption(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, word(v)), getOption(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, 4))
		}
		for _, v := range []int32{0, 1, 9999} {
			say("%s: groups by %d: %s %s", s.what, v, setOption(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, word(v)), getOption(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, 4))
		}
		syscall.Close(fd)
	}
	// Connections, as they end.
	state := func(fd int) string {
		return fmt.Sprint(getOption(fd, unix.SOL_SOCKET, unix.SO_ERROR, 4), " ",
			getOption(fd, unix.IPPROTO_IP, unix.IP_MTU, 4), " ", getOption(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU, 4), " ", getOption(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN, 4))
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		l := must(unix.Socket(family, unix.SOCK_STREAM, 0))
		var at unix.Sockaddr = local4
		if family == unix.AF_INET6 {
			at = local6
		}
		check(unix.Bind(l, at))
		check(unix.SetsockoptInt(l, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 77))
		check(unix.SetsockoptInt(l, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		check(unix.Listen(l, 5))
		a := must(unix.Socket(family, unix.SOCK_STREAM, 0))
		check(unix.Connect(a, must(unix.Getsockname(l))))
		b, _, err := unix.Accept(l)
		check(err)
		say("%d: %s; %s; %s", family, state(l), state(a), state(b))
		say("%d: the listener's options: %s %s", family, getOption(b, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 4), getOption(b, unix.IPPROTO_TCP, unix.TCP_NODELAY, 4))
		check(unix.Shutdown(a, unix.SHUT_WR))
		must(unix.Read(b, make([]byte, 1)))
		say("%d, half-closed: %s", family, state(b)) // a waits for an acknowledgement, or has it
		closeAll(a, b, l)
		u := fresh(family, unix.SOCK_DGRAM)
		check(unix.Connect(u, at))
		say("%d, a datagram socket: %s; %s", family, state(u), getOption(u, unix.IPPROTO_IPV6, unix.IPV6_PATHMTU, 40))
		closeAll(u)
	}
}

func fresh(family, kind int) int {
	return must(syscall.Socket(family, kind|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0))
}

func word(v int32) []byte { return (*[4]byte)(unsafe.Pointer(&v))[:] }

// getOption says what getsockopt answers to who has room for n bytes.
func getOption(fd, level, name, n int) string {
	b := make([]byte, 64)
	size := uint32(n)
	_, _, e := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return e.Error()
	}
	if size == 4 {
		return fmt.Sprint(*(*int32)(unsafe.Pointer(&b[0])))
	}
	return fmt.Sprintf("%d:%s", size, strings.TrimRight(fmt.Sprintf("%x", b[:min(int(size), len(b))]), "0"))
}

func setOption(fd, level, name int, value []byte) string {
	_, _, e := syscall.Syscall6(syscall.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name), uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(len(value)), 0)
	if e != 0 {
		return e.Error()
	}
	return "ok"
}

package main

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Control messages: how a datagram goes and has come, many messages in one call, and who has
// sent one.

// message is a control message.
func message(level, kind int, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

// receive says what a socket receives, with its control messages, and where it comes from.
func receive(fd, room, flags int) string {
	b, oob := make([]byte, 64), make([]byte, 256)
	n, oobn, flags, from, err := unix.Recvmsg(fd, b, oob[:room], flags)
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("%q flags %#x", b[:n], flags)
	switch from := from.(type) {
	case *unix.SockaddrInet4:
		s += fmt.Sprint(" from ", net.IP(from.Addr[:]))
	case *unix.SockaddrInet6:
		s += fmt.Sprint(" from ", net.IP(from.Addr[:]), " ", from.ZoneId)
	case *unix.SockaddrUnix:
		s += fmt.Sprintf(" from %q", from.Name)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		s += fmt.Sprintf("; %d bytes of control, %v", oobn, err)
	}
	for _, m := range messages {
		if (m.Header.Level == 0 && m.Header.Type == unix.IP_ORIGDSTADDR || m.Header.Level == 41 && m.Header.Type == unix.IPV6_ORIGDSTADDR) && len(m.Data) >= 4 {
			at := must(unix.Getsockname(fd))
			port := 0
			switch at := at.(type) {
			case *unix.SockaddrInet4:
				port = at.Port
			case *unix.SockaddrInet6:
				port = at.Port
			}
			if port == int(m.Data[2])<<8|int(m.Data[3]) {
				m.Data[2], m.Data[3] = 0, 0 // it differs
			}
		}
		data := fmt.Sprintf("%x", m.Data)
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_CREDENTIALS:
			if len(m.Data) != unix.SizeofUcred {
				data = fmt.Sprint(len(m.Data), " bytes of them")
				break
			}
			c, err := unix.ParseUnixCredentials(&m)
			data = fmt.Sprint("the program's own: ", err == nil && int(c.Pid) == unix.Getpid() && int(c.Uid) == unix.Getuid() && int(c.Gid) == unix.Getgid())
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&m)
			data = fmt.Sprint(len(fds), " descriptors, ", err)
			for _, fd := range fds {
				how, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
				data += fmt.Sprint(" ", how, " ", err)
				unix.Close(fd)
			}
		}
		s += fmt.Sprintf("; %d/%d %s", m.Header.Level, m.Header.Type, data)
	}
	return s
}

var (
	local4 = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	local6 = &unix.SockaddrInet6{Addr: [16]byte{15: 1}}
)

// bound is a socket for datagrams with an address, and the address.
func bound(family int, a unix.Sockaddr) (int, unix.Sockaddr) {
	fd := fresh(family, unix.SOCK_DGRAM)
	check(unix.Bind(fd, a))
	return fd, must(unix.Getsockname(fd))
}

// mapped is an address of version 4 in the form of version 6.
func mapped(a unix.Sockaddr) unix.Sockaddr {
	s := &unix.SockaddrInet6{Addr: [16]byte{10: 0xff, 0xff}}
	copy(s.Addr[12:], a.(*unix.SockaddrInet4).Addr[:])
	s.Port = a.(*unix.SockaddrInet4).Port
	return s
}

func control() {
	info4 := func(index int32, a ...byte) []byte {
		return append(append(append([]byte{}, word(index)...), a...), 0, 0, 0, 0)
	}
	info6 := func(index int32, last byte) []byte { return append(append(make([]byte, 15), last), word(index)...) }
	info46 := append([]byte{10: 0xff, 0xff, 127, 0, 0, 3}, word(0)...)
	messages := [][]byte{
		nil,
		message(0, unix.IP_TTL, word(3)), message(0, unix.IP_TTL, word(0)), message(0, unix.IP_TTL, word(256)), message(0, unix.IP_TTL, []byte{5}),
		message(0, unix.IP_TOS, word(0x13)), message(0, unix.IP_TOS, []byte{0x28}), message(0, unix.IP_TOS, word(300)), message(0, unix.IP_TOS, []byte{1, 2}),
		message(0, unix.IP_PKTINFO, info4(1, 0, 0, 0, 0)), message(0, unix.IP_PKTINFO, info4(0, 127, 0, 0, 7)),
		message(0, unix.IP_PKTINFO, info4(0, 10, 9, 8, 7)), message(0, unix.IP_PKTINFO, info4(9999, 127, 0, 0, 7)), message(0, unix.IP_PKTINFO, word(1)),
		append(message(0, unix.IP_TOS, word(0x20)), message(0, unix.IP_TTL, word(77))...),
		message(0, 99, word(1)), message(6, 99, word(1)), message(1, 99, word(1)), message(1, unix.SCM_RIGHTS, word(0)),
		message(41, unix.IPV6_HOPLIMIT, word(3)), message(41, unix.IPV6_HOPLIMIT, word(-1)), message(41, unix.IPV6_HOPLIMIT, word(256)), message(41, unix.IPV6_HOPLIMIT, []byte{1}),
		message(41, unix.IPV6_TCLASS, word(0x13)), message(41, unix.IPV6_TCLASS, word(300)),
		message(41, unix.IPV6_PKTINFO, info6(1, 0)), message(41, unix.IPV6_PKTINFO, info6(0, 1)), message(41, unix.IPV6_PKTINFO, info6(0, 2)),
		message(41, unix.IPV6_PKTINFO, info6(9999, 0)), message(41, unix.IPV6_PKTINFO, word(1)), message(41, unix.IPV6_PKTINFO, info46),
		message(41, 99, word(1)),
		append(message(41, unix.IPV6_TCLASS, word(0x20)), message(41, unix.IPV6_HOPLIMIT, word(77))...),
		message(0, unix.IP_TTL, word(3))[:18], {40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0},
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		any := unix.Sockaddr(&unix.SockaddrInet4{})
		if family == unix.AF_INET6 {
			any = &unix.SockaddrInet6{}
		}
		to, at := bound(family, any)
		targets := []unix.Sockaddr{local4}
		if family == unix.AF_INET6 {
			targets = []unix.Sockaddr{local6, mapped(local4)}
			at := at.(*unix.SockaddrInet6)
			targets[0] = &unix.SockaddrInet6{Addr: local6.Addr, Port: at.Port}
			targets[1].(*unix.SockaddrInet6).Port = at.Port
		} else {
			targets[0] = &unix.SockaddrInet4{Addr: local4.Addr, Port: at.(*unix.SockaddrInet4).Port}
		}
		for _, wanted := range [][][2]int{
			{},
			{{0, unix.IP_PKTINFO}},
			{{0, unix.IP_RECVTTL}, {0, unix.IP_RECVTOS}},
			{{0, unix.IP_PKTINFO}, {0, unix.IP_RECVTTL}, {0, unix.IP_RECVTOS}, {41, unix.IPV6_RECVPKTINFO}, {41, unix.IPV6_RECVHOPLIMIT}, {41, unix.IPV6_RECVTCLASS}},
			{{0, unix.IP_RECVTTL}, {0, unix.IP_RECVORIGDSTADDR}, {41, unix.IPV6_RECVHOPLIMIT}, {41, unix.IPV6_RECVORIGDSTADDR}},
		} {
			for _, o := range wanted {
				setOption(to, o[0], o[1], word(1))
			}
			for _, target := range targets {
				for i, m := range messages {
					from := fresh(family, unix.SOCK_DGRAM)
					err := unix.Sendmsg(from, []byte{'a'}, m, target, 0)
					say("%d, %d wanted, message %d: %v, %s", family, len(wanted), i, err, receive(to, 200, 0))
					unix.Close(from)
				}
				for _, room := range []int{0, 15, 16, 17, 20, 24, 32, 48, 60} {
					from := fresh(family, unix.SOCK_DGRAM)
					check(unix.Sendmsg(from, []byte{'b'}, nil, target, 0))
					say("%d, %d wanted, room for %d: %s, %s", family, len(wanted), room, receive(to, room, unix.MSG_PEEK), receive(to, room, 0))
					unix.Close(from)
				}
			}
			for _, o := range wanted {
				setOption(to, o[0], o[1], word(0))
			}
		}
		// Options of who sends, which a control message overrides.
		from := fresh(family, unix.SOCK_DGRAM)
		for _, o := range [][3]int{{0, unix.IP_TOS, 0x48}, {0, unix.IP_TTL, 12}, {41, unix.IPV6_TCLASS, 0x4c}, {41, unix.IPV6_UNICAST_HOPS, 13}} {
			say("%d: %s", family, setOption(from, o[0], o[1], word(int32(o[2]))))
		}
		for _, o := range [][2]int{{0, unix.IP_RECVTTL}, {0, unix.IP_RECVTOS}, {41, unix.IPV6_RECVHOPLIMIT}, {41, unix.IPV6_RECVTCLASS}} {
			setOption(to, o[0], o[1], word(1))
		}
		for _, target := range targets {
			for _, m := range [][]byte{nil, message(0, unix.IP_TTL, word(3)), message(41, unix.IPV6_TCLASS, word(8))} {
				say("%d by options: %v, %s", family, unix.Sendmsg(from, []byte{'c'}, m, target, 0), receive(to, 200, 0))
			}
		}
		closeAll(from, to)
	}
	// Addresses that the machine has not.
	for _, o := range [][2]int{{0, unix.IP_FREEBIND}, {41, unix.IPV6_FREEBIND}} {
		for _, a := range []unix.Sockaddr{&unix.SockaddrInet4{Addr: [4]byte{10, 9, 8, 7}}, &unix.SockaddrInet6{Addr: [16]byte{0x20, 1, 15: 9}}} {
			family, own := unix.AF_INET, unix.Sockaddr(local4)
			if _, ok := a.(*unix.SockaddrInet6); ok {
				family, own = unix.AF_INET6, local6
			}
			free, from := fresh(family, unix.SOCK_DGRAM), fresh(family, unix.SOCK_DGRAM)
			to, at := bound(family, own)
			say("free, %d: %s %s", family, setOption(free, o[0], o[1], word(1)), setOption(from, o[0], o[1], word(1)))
			say("free, %d: bind %v", family, unix.Bind(free, a))
			info := message(0, unix.IP_PKTINFO, info4(0, 127, 0, 0, 9))
			if family == unix.AF_INET6 {
				info = message(41, unix.IPV6_PKTINFO, append(append([]byte{0x20, 1}, make([]byte, 13)...), 9, 0, 0, 0, 0))
			}
			say("free, %d: %v, %s", family, unix.Sendmsg(from, []byte{'d'}, info, at, 0), receive(to, 200, 0))
			closeAll(free, from, to)
		}
	}
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	n uint32
	_ uint32
}

// parcels are n headers, with size bytes and room for control messages and a name each.
func parcels(n, size int, name bool) ([]mmsghdr, [][]byte) {
	h, data := make([]mmsghdr, n), make([][]byte, n)
	for i := range h {
		data[i] = make([]byte, size)
		v := &unix.Iovec{Base: unsafe.SliceData(data[i])}
		v.SetLen(size)
		h[i].Iov, h[i].Iovlen = v, 1
		h[i].Control = unsafe.SliceData(make([]byte, 64))
		h[i].SetControllen(64)
		if name {
			h[i].Name, h[i].Namelen = unsafe.SliceData(make([]byte, 128)), 128
		}
	}
	return h, data
}

func many() {
	call := func(number uintptr, fd int, h []mmsghdr, flags int, timeout *unix.Timespec) string {
		r, _, e := syscall.Syscall6(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(h))), uintptr(len(h)), uintptr(flags), uintptr(unsafe.Pointer(timeout)), 0)
		if e != 0 {
			return e.Error()
		}
		return fmt.Sprint(r)
	}
	told := func(h []mmsghdr, data [][]byte) string {
		var b strings.Builder
		for i := range h {
			fmt.Fprintf(&b, " [%d %q flags %#x control %d name %d]", h[i].n, data[i][:min(len(data[i]), int(h[i].n))], h[i].Flags, h[i].Controllen, h[i].Namelen)
		}
		return b.String()
	}
	for _, kind := range []string{"udp", "unixgram", "unixpacket", "unix", "tcp"} {
		var a, b int
		switch kind {
		case "udp":
			var at unix.Sockaddr
			b, at = bound(unix.AF_INET, local4)
			a = fresh(unix.AF_INET, unix.SOCK_DGRAM)
			check(unix.Connect(a, at))
			setOption(b, 0, unix.IP_RECVTTL, word(1))
		case "unixgram":
			a, b = socketpair(unix.SOCK_DGRAM | unix.SOCK_NONBLOCK)
		case "unixpacket":
			a, b = socketpair(unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK)
		case "unix":
			a, b = socketpair(unix.SOCK_STREAM | unix.SOCK_NONBLOCK)
		default:
			a, b = blockingPair()
			check(unix.SetNonblock(a, true))
			check(unix.SetNonblock(b, true))
		}
		const sends, receives = unix.SYS_SENDMMSG, unix.SYS_RECVMMSG
		for n := range 4 {
			h, data := parcels(n, n+2, false)
			for i := range data {
				copy(data[i], "abcdef"[i:])
				h[i].SetControllen(0)
			}
			say("%s, %d sent: %s%s", kind, n, call(sends, a, h, 0, nil), told(h, data))
			for _, room := range []int{1, 2, 5} {
				h, data := parcels(room, 4, kind == "udp" && room == 2)
				say("%s, received: %s%s", kind, call(receives, b, h, 0, nil), strings.ReplaceAll(told(h, data), "name 16", "name"))
			}
		}
		h, data := parcels(3, 4, false)
		h[1].Iov.Base = nil // the second one is bad
		for i := range h {
			h[i].SetControllen(0)
		}
		say("%s, a bad one: %s", kind, call(sends, a, h, 0, nil))
		h, data = parcels(3, 4, false)
		say("%s, after that: %s%s", kind, call(receives, b, h, unix.MSG_WAITFORONE, nil), told(h, data))
		say("%s, no time: %s", kind, call(receives, b, h, 0, &unix.Timespec{Nsec: 1e9}))
		say("%s, no memory: %s, %s", kind, do(receives, b, bad, 1, 0, 0), do(sends, a, bad, 1, 0, 0))
		if kind == "unix" || kind == "tcp" { // which have no bounds of messages
			closeAll(a, b)
			continue
		}
		// A call that waits for all of its messages.
		check(unix.SetNonblock(b, false))
		h, data = parcels(3, 4, false)
		done := make(chan string)
		go func() { done <- call(receives, b, h, 0, nil) }()
		for i := range 3 {
			must(unix.Write(a, []byte{'x', byte('0' + i)}))
		}
		say("%s, waits: %s%s", kind, <-done, told(h, data))
		closeAll(a, b)
	}
}

// credentials are who has sent a message, and descriptors with flags.
func credentials() {
	me := unix.UnixCredentials(&unix.Ucred{Pid: int32(unix.Getpid()), Uid: uint32(unix.Getuid()), Gid: uint32(unix.Getgid())})
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		a, b := socketpair(kind | unix.SOCK_NONBLOCK)
		for _, on := range []int32{0, 1} {
			say("%d: %s", kind, setOption(b, unix.SOL_SOCKET, unix.SO_PASSCRED, word(on)))
			for i, m := range [][]byte{
				nil, me, me[:20], message(unix.SOL_SOCKET, unix.SCM_CREDENTIALS, word(1)),
				unix.UnixRights(0), append(unix.UnixRights(0, 1), me...), append(unix.UnixRights(0), unix.UnixRights(1, 2)...), unix.UnixRights(),
				message(unix.SOL_SOCKET, unix.SCM_RIGHTS, word(-1)), message(unix.SOL_SOCKET, unix.SCM_RIGHTS, []byte{0, 0, 0, 0, 1}), message(0, 0, word(1)), message(unix.SOL_SOCKET, 99, word(1)),
			} {
				for _, room := range []int{0, 16, 20, 24, 32, 48, 100} {
					err := unix.Sendmsg(a, []byte{'m'}, m, nil, 0)
					say("%d, option %d, message %d: %v; room for %d: %s", kind, on, i, err, room, receive(b, room, unix.MSG_CMSG_CLOEXEC*(room/4%2)))
					if err != nil {
						break
					}
				}
			}
		}
		closeAll(a, b)
	}
	// Who is at the other end.
	l := fresh(unix.AF_UNIX, unix.SOCK_SEQPACKET)
	check(unix.Bind(l, &unix.SockaddrUnix{Name: "@credentials"}))
	peer := func(fd int) string {
		c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(int(c.Pid) == unix.Getpid(), int(c.Uid) == unix.Getuid(), int(c.Gid) == unix.Getgid())
	}
	before := peer(l)
	check(unix.Listen(l, 5))
	c := fresh(unix.AF_UNIX, unix.SOCK_SEQPACKET)
	check(unix.Connect(c, &unix.SockaddrUnix{Name: "@credentials"}))
	s, _, err := unix.Accept(l)
	check(err)
	say("peers: %s; %s, %s, %s", before, peer(l), peer(c), peer(s))
	must(unix.Write(c, []byte("one")))
	must(unix.Write(c, []byte("two")))
	say("%s, %s, %s", receive(s, 0, unix.MSG_PEEK), receive(s, 0, unix.MSG_TRUNC), receive(s, 0, 0))
	closeAll(l, c, s)
	// A descriptor on its way is closed with the socket that it is in: the pipe's reader sees the end.
	a, b := socketpair(unix.SOCK_DGRAM)
	var p [2]int
	check(unix.Pipe(p[:]))
	check(unix.Sendmsg(a, []byte{1}, unix.UnixRights(p[1]), nil, 0))
	unix.Close(p[1])
	closeAll(a, b)
	n, err := unix.Read(p[0], make([]byte, 1))
	say("the end of a pipe: %d %v", n, err)
	unix.Close(p[0])
}

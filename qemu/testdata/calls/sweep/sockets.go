package main

import "syscall"

// Calls on sockets.

func pair(kind int) (a, b int) {
	p, err := syscall.Socketpair(syscall.AF_UNIX, kind, 0)
	must(err)
	return keep(p[0], nil), keep(p[1], nil)
}

func filled(kind int) int {
	a, b := pair(kind)
	_, err := syscall.Write(b, make([]byte, 100))
	must(err)
	return a
}

func fullStream() int   { return filled(syscall.SOCK_STREAM) }
func fullDatagram() int { return filled(syscall.SOCK_DGRAM) }

func emptyStream() int {
	a, _ := pair(syscall.SOCK_STREAM)
	return a
}

func emptyDatagram() int {
	a, _ := pair(syscall.SOCK_DGRAM)
	return a
}

func tcp() int { return keep(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)) }
func udp() int { return keep(syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)) }

func loopback() *syscall.SockaddrInet4 { return &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}} }

// called is a socket on which somebody has called.
func called() int {
	l := tcp()
	must(syscall.Bind(l, loopback()))
	must(syscall.Listen(l, 5))
	name, err := syscall.Getsockname(l)
	must(err)
	must(syscall.Connect(tcp(), name))
	return l
}

// connected is one that is.
func connected() int {
	l := called()
	fd, _, err := syscall.Accept(l)
	return keep(fd, err)
}

// header is a struct msghdr on the page, with one part of 16 bytes.
func header(name, nameSize, vec, count, control, controlSize uintptr) uintptr {
	return words(uint64(name), uint64(nameSize), uint64(vec), uint64(count), uint64(control), uint64(controlSize), 0)
}

func sockets() (all []attempt) {
	const (
		few       = 16
		sizeInet  = 16
		solSocket = syscall.SOL_SOCKET
		keepAlive = syscall.SO_KEEPALIVE
	)
	length := func() uintptr { return words(100) }
	some := room()
	message := func(fd func() int, call string, number uintptr, k kind) {
		all = append(all, with(fd, call, number, in, 1))
		for _, m := range []struct {
			what string
			kind kind
			of   func(bad uintptr) uintptr
		}{
			{"name", k, func(p uintptr) uintptr { return header(p, sizeInet, words(uint64(some), 4), 1, 0, 0) }},
			{"vector", in, func(p uintptr) uintptr { return header(0, 0, p, 1, 0, 0) }},
			{"count", size, func(n uintptr) uintptr { return header(0, 0, edge, n, 0, 0) }},
			{"part", k, func(p uintptr) uintptr { return header(0, 0, words(uint64(p), few), 1, 0, 0) }},
			{"second part", k, func(p uintptr) uintptr { return header(0, 0, words(uint64(room()), 8, uint64(p), few), 2, 0, 0) }},
			{"part size", size, func(n uintptr) uintptr { return header(0, 0, words(edge, uint64(n)), 1, 0, 0) }},
			{"control", k, func(p uintptr) uintptr { return header(0, 0, words(uint64(some), 4), 1, p, 24) }},
			{"control size", size, func(n uintptr) uintptr { return header(0, 0, words(uint64(some), 4), 1, edge, n) }},
		} {
			all = append(all, attempt{call + " " + m.what, number, m.kind, func(bad uintptr) [6]uintptr {
				return [6]uintptr{uintptr(fd()), m.of(bad)}
			}})
		}
	}
	message(emptyStream, "sendmsg stream", syscall.SYS_SENDMSG, in)
	message(emptyDatagram, "sendmsg datagram", syscall.SYS_SENDMSG, in)
	message(udp, "sendmsg udp", syscall.SYS_SENDMSG, in)
	message(fullStream, "recvmsg stream", syscall.SYS_RECVMSG, out)
	message(fullDatagram, "recvmsg datagram", syscall.SYS_RECVMSG, out)
	return append(all,
		with(tcp, "connect", syscall.SYS_CONNECT, in, 1, 0, sizeInet),
		with(tcp, "bind", syscall.SYS_BIND, in, 1, 0, sizeInet),
		with(tcp, "bind size", syscall.SYS_BIND, size, 2, edge),
		with(called, "accept", syscall.SYS_ACCEPT, out, 1, 0, length()),
		with(called, "accept size", syscall.SYS_ACCEPT, out, 2, room()),
		with(called, "accept4", syscall.SYS_ACCEPT4, out, 1, 0, length(), 0),
		with(connected, "getsockname", syscall.SYS_GETSOCKNAME, out, 1, 0, length()),
		with(connected, "getsockname size", syscall.SYS_GETSOCKNAME, out, 2, room()),
		with(connected, "getpeername", syscall.SYS_GETPEERNAME, out, 1, 0, length()),
		with(connected, "getpeername size", syscall.SYS_GETPEERNAME, out, 2, room()),
		with(connected, "write tcp", syscall.SYS_WRITE, in, 1, 0, few),
		with(tcp, "getpeername, none", syscall.SYS_GETPEERNAME, out, 1, 0, length()),
		with(emptyStream, "sendto", syscall.SYS_SENDTO, in, 1, 0, few),
		with(udp, "sendto address", syscall.SYS_SENDTO, in, 4, some, few, 0, 0, sizeInet),
		with(udp, "sendto address size", syscall.SYS_SENDTO, size, 5, some, few, 0, edge),
		with(fullStream, "recvfrom", syscall.SYS_RECVFROM, out, 1, 0, few),
		with(fullDatagram, "recvfrom datagram", syscall.SYS_RECVFROM, out, 1, 0, few),
		with(fullDatagram, "recvfrom address", syscall.SYS_RECVFROM, out, 4, room(), few, 0, 0, length()),
		with(fullDatagram, "recvfrom address size", syscall.SYS_RECVFROM, out, 5, room(), few, 0, room()),
		with(tcp, "setsockopt", syscall.SYS_SETSOCKOPT, in, 3, solSocket, keepAlive, 0, 4),
		with(tcp, "setsockopt linger", syscall.SYS_SETSOCKOPT, in, 3, solSocket, syscall.SO_LINGER, 0, 8),
		with(tcp, "setsockopt timeout", syscall.SYS_SETSOCKOPT, in, 3, solSocket, syscall.SO_RCVTIMEO, 0, 16),
		with(tcp, "setsockopt size", syscall.SYS_SETSOCKOPT, size, 4, solSocket, keepAlive, edge),
		with(tcp, "getsockopt", syscall.SYS_GETSOCKOPT, out, 3, solSocket, keepAlive, 0, length()),
		with(tcp, "getsockopt size", syscall.SYS_GETSOCKOPT, out, 4, solSocket, keepAlive, room()),
		with(tcp, "getsockopt linger", syscall.SYS_GETSOCKOPT, out, 3, solSocket, syscall.SO_LINGER, 0, length()),
	)
}

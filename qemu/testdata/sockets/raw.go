package main

import (
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// System calls, made by hand.

// bad is an address where there is nothing.
const bad = 16

func name(e syscall.Errno) string {
	if e == 0 {
		return "ok"
	}
	return e.Error()
}

// do makes a system call and returns its result or error as text.
func do(number uintptr, args ...any) string {
	var a [6]uintptr
	for i, v := range args {
		switch v := v.(type) {
		case int:
			a[i] = uintptr(v)
		case uintptr:
			a[i] = v
		case []byte:
			a[i] = uintptr(unsafe.Pointer(unsafe.SliceData(v)))
		case *[4]byte:
			a[i] = uintptr(unsafe.Pointer(v))
		case *syscall.Msghdr:
			a[i] = uintptr(unsafe.Pointer(v))
		case *[2]syscall.Iovec:
			a[i] = uintptr(unsafe.Pointer(v))
		default:
			panic("type")
		}
	}
	r, _, e := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	runtime.KeepAlive(args)
	if e != 0 {
		return name(e)
	}
	if r > 2 {
		return "ok, more than 2"
	}
	return "ok, " + string(rune('0'+r))
}

func errorTable() {
	const (
		socket      = syscall.SYS_SOCKET
		bind        = syscall.SYS_BIND
		connect     = syscall.SYS_CONNECT
		listen      = syscall.SYS_LISTEN
		accept      = syscall.SYS_ACCEPT4
		sendto      = syscall.SYS_SENDTO
		recvfrom    = syscall.SYS_RECVFROM
		sendmsg     = syscall.SYS_SENDMSG
		recvmsg     = syscall.SYS_RECVMSG
		shutdown    = syscall.SYS_SHUTDOWN
		getsockopt  = syscall.SYS_GETSOCKOPT
		setsockopt  = syscall.SYS_SETSOCKOPT
		getsockname = syscall.SYS_GETSOCKNAME
		getpeername = syscall.SYS_GETPEERNAME
		pair        = syscall.SYS_SOCKETPAIR
		quiet       = syscall.MSG_NOSIGNAL | syscall.MSG_DONTWAIT
	)
	fresh := func(family, kind int) int {
		return must(syscall.Socket(family, kind|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0))
	}
	tcp := fresh(syscall.AF_INET, syscall.SOCK_STREAM)
	tcp6 := fresh(syscall.AF_INET6, syscall.SOCK_STREAM)
	udp := fresh(syscall.AF_INET, syscall.SOCK_DGRAM)
	stream := fresh(syscall.AF_UNIX, syscall.SOCK_STREAM)
	dgram := fresh(syscall.AF_UNIX, syscall.SOCK_DGRAM)
	packet := fresh(syscall.AF_UNIX, syscall.SOCK_SEQPACKET)
	sa, sb := socketpair(syscall.SOCK_STREAM)
	da, db := socketpair(syscall.SOCK_DGRAM)
	pa, pb := socketpair(syscall.SOCK_SEQPACKET)
	ln := fresh(syscall.AF_INET, syscall.SOCK_STREAM)
	check(syscall.Bind(ln, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(ln, 1))
	uln := fresh(syscall.AF_UNIX, syscall.SOCK_STREAM)
	check(syscall.Bind(uln, &syscall.SockaddrUnix{Name: "@errors"}))
	check(syscall.Listen(uln, 1))
	null := must(syscall.Open("/dev/null", syscall.O_RDWR, 0))

	in4 := []byte{2, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	in6 := append([]byte{10, 0, 0, 0, 0, 0, 0, 0}, append(net.IPv6loopback, 0, 0, 0, 0)...)
	un := []byte{1, 0, 0, 'e', 'r', 'r', 'o', 'r', 's'}
	buf := make([]byte, 64)
	size := &[4]byte{16}
	minus := &[4]byte{0xff, 0xff, 0xff, 0xff}
	long := make([]byte, 200)
	long[0] = 1
	part := func(base, n uintptr) *[2]syscall.Iovec {
		v := new([2]syscall.Iovec)
		v[0].Base, v[0].Len = &buf[0], 1
		*(*uintptr)(unsafe.Pointer(&v[1].Base)), v[1].Len = base, uint64(n)
		return v
	}
	message := func(v *[2]syscall.Iovec, n uint64, control []byte, length uint64) *syscall.Msghdr {
		h := &syscall.Msghdr{Iov: &v[0], Iovlen: n, Controllen: length}
		if control != nil {
			h.Control = &control[0]
		}
		return h
	}
	good := part(uintptr(unsafe.Pointer(&buf[0])), 2)
	control := func(words ...uint64) []byte {
		b := make([]byte, 256)
		for i, w := range words {
			*(*uint64)(unsafe.Pointer(&b[8*i])) = w
		}
		return b
	}
	type test struct {
		what   string
		number uintptr
		args   []any
	}
	all := func(args ...any) []any { return args }
	for _, t := range []test{
		{"socket: family", socket, all(99, 1, 0)},
		{"socket: family, high bits", socket, all(1<<16+1, 1, 0)},
		{"socket: type", socket, all(2, 77, 0)},
		{"socket: type 9 of inet", socket, all(2, 9, 0)},
		{"socket: type 4 of unix", socket, all(1, 4, 0)},
		{"socket: flags", socket, all(2, 1|1<<20, 0)},
		{"socket: protocol", socket, all(2, 1, 17)},
		{"socket: protocol of unix", socket, all(1, 1, 5)},
		{"socket: protocol, high", socket, all(2, 1, 1<<16+6)},
		{"socketpair: inet", pair, all(2, 1, 0, buf)},
		{"socketpair: bad", pair, all(1, 1, 0, bad)},
		{"bind: no descriptor", bind, all(999, in4, 16)},
		{"bind: no socket", bind, all(null, in4, 16)},
		{"bind: bad", bind, all(tcp, bad, 16)},
		{"bind: short", bind, all(tcp, in4, 15)},
		{"bind: long", bind, all(tcp, long, 129)},
		{"bind: negative", bind, all(tcp, in4, -1)},
		{"bind: family", bind, all(tcp, in6, 28)},
		{"bind: family 2", bind, all(tcp6, in4, 16)},
		{"bind: not ours", bind, all(tcp, []byte{2, 0, 0, 0, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 16)},
		{"bind: abstract taken", bind, all(stream, un, len(un))},
		{"bind: unix family", bind, all(stream, in4, 16)},
		{"bind: unix long", bind, all(stream, long, 112)},
		{"bind: unix no directory", bind, all(stream, []byte("\x01\x00/none/x\x00"), 10)},
		{"bind: listener again", bind, all(ln, in4, 16)},
		{"listen: udp", listen, all(udp, 1)},
		{"listen: unix without a name", listen, all(stream, 1)},
		{"listen: dgram", listen, all(dgram, 1)},
		{"listen: connected", listen, all(sa, 1)},
		{"accept: not listening", accept, all(tcp, 0, 0, 0)},
		{"accept: unix not listening", accept, all(stream, 0, 0, 0)},
		{"accept: dgram", accept, all(udp, 0, 0, 0)},
		{"accept: flags", accept, all(ln, 0, 0, 1)},
		{"accept: nobody", accept, all(ln, 0, 0, 0)},
		{"accept: nobody at unix", accept, all(uln, 0, 0, 0)},
		{"connect: bad", connect, all(tcp, bad, 16)},
		{"connect: short", connect, all(tcp, in4, 1)},
		{"connect: family", connect, all(tcp, in6, 28)},
		{"connect: unix nobody", connect, all(stream, []byte("\x01\x00\x00nobody"), 9)},
		{"connect: unix no file", connect, all(stream, []byte("\x01\x00none\x00"), 7)},
		{"connect: unix no name", connect, all(stream, un, 2)},
		{"connect: unix a file", connect, all(stream, []byte("\x01\x00/dev/null\x00"), 12)},
		{"connect: unix type", connect, all(dgram, un, len(un))},
		{"connect: unix packet", connect, all(packet, un, len(un))},
		{"connect: connected", connect, all(sa, un, len(un))},
		{"connect: listener", connect, all(uln, un, len(un))},
		{"connect: tcp listener", connect, all(ln, in4, 16)},
		{"send: tcp", sendto, all(tcp, buf, 1, quiet, 0, 0)},
		{"send: tcp, nothing", sendto, all(tcp, buf, 0, quiet, 0, 0)},
		{"send: listener", sendto, all(ln, buf, 1, quiet, 0, 0)},
		{"send: stream", sendto, all(stream, buf, 1, quiet, 0, 0)},
		{"send: stream with name", sendto, all(stream, buf, 1, quiet, un, len(un))},
		{"send: connected stream with name", sendto, all(sa, buf, 1, quiet, un, len(un))},
		{"send: dgram", sendto, all(dgram, buf, 1, quiet, 0, 0)},
		{"send: packet", sendto, all(packet, buf, 1, quiet, 0, 0)},
		{"send: udp", sendto, all(udp, buf, 1, quiet, 0, 0)},
		{"send: udp port 0", sendto, all(udp, buf, 1, quiet, in4, 16)},
		{"send: udp short name", sendto, all(udp, buf, 1, quiet, in4, 15)},
		{"send: udp empty name", sendto, all(udp, buf, 1, quiet, in4, 0)},
		{"send: udp family", sendto, all(udp, buf, 1, quiet, in6, 28)},
		{"send: bad", sendto, all(sa, bad, 1, quiet, 0, 0)},
		{"send: dgram bad", sendto, all(da, bad, 1, quiet, 0, 0)},
		{"send: dgram to another type", sendto, all(dgram, buf, 1, quiet, un, len(un))},
		{"send: no socket", sendto, all(null, buf, 1, quiet, 0, 0)},
		{"recv: tcp", recvfrom, all(tcp, buf, 1, quiet, 0, 0)},
		{"recv: listener", recvfrom, all(ln, buf, 1, quiet, 0, 0)},
		{"recv: stream", recvfrom, all(stream, buf, 1, quiet, 0, 0)},
		{"recv: unix listener", recvfrom, all(uln, buf, 1, quiet, 0, 0)},
		{"recv: packet", recvfrom, all(packet, buf, 1, quiet, 0, 0)},
		{"recv: dgram", recvfrom, all(dgram, buf, 1, quiet, 0, 0)},
		{"recv: udp", recvfrom, all(udp, buf, 1, quiet, 0, 0)},
		{"recv: pair", recvfrom, all(sa, buf, 1, quiet, 0, 0)},
		{"sendmsg: bad", sendmsg, all(sa, bad, quiet)},
		{"sendmsg: too many parts", sendmsg, all(sa, message(good, 1025, nil, 0), quiet)},
		{"sendmsg: negative", sendmsg, all(sa, message(part(0, 1<<63), 2, nil, 0), quiet)},
		{"sendmsg: bad part of a packet", sendmsg, all(pa, message(part(bad, 5), 2, nil, 0), quiet)},
		{"sendmsg: huge parts of a packet", sendmsg, all(pa, message(part(uintptr(unsafe.Pointer(&buf[0])), 1<<62), 2, nil, 0), quiet)},
		{"sendmsg: control too long", sendmsg, all(sa, message(good, 2, control(16, 1|1<<32), 1<<40), quiet)},
		{"sendmsg: control's length", sendmsg, all(sa, message(good, 2, control(15, 1|1<<32), 16), quiet)},
		{"sendmsg: control beyond", sendmsg, all(sa, message(good, 2, control(40, 1|1<<32), 32), quiet)},
		{"sendmsg: control's length, huge", sendmsg, all(sa, message(good, 2, control(^uint64(3), 77), 64), quiet)},
		{"sendmsg: control's kind", sendmsg, all(sa, message(good, 2, control(16, 1|77<<32), 16), quiet)},
		{"recv: nothing came of these", recvfrom, all(sb, buf, 64, quiet, 0, 0)},
		{"recv: of packets neither", recvfrom, all(pb, buf, 64, quiet, 0, 0)},
		{"recv: nor of datagrams", recvfrom, all(db, buf, 64, quiet, 0, 0)},
		{"recvmsg: bad", recvmsg, all(sa, bad, quiet)},
		{"shutdown: how", shutdown, all(sa, 3)},
		{"shutdown: tcp", shutdown, all(tcp, 2)},
		{"shutdown: udp", shutdown, all(udp, 1)},
		{"shutdown: no socket", shutdown, all(null, 2)},
		{"getsockname: bad", getsockname, all(tcp, bad, size)},
		{"getsockname: bad size", getsockname, all(tcp, buf, bad)},
		{"getsockname: negative", getsockname, all(tcp, buf, minus)},
		{"getpeername: tcp", getpeername, all(tcp, buf, size)},
		{"getpeername: udp", getpeername, all(udp, buf, size)},
		{"getpeername: dgram", getpeername, all(dgram, buf, size)},
		{"getpeername: listener", getpeername, all(ln, buf, size)},
		{"getsockopt: level", getsockopt, all(tcp, 999, 1, buf, size)},
		{"getsockopt: level of unix", getsockopt, all(stream, 6, 1, buf, size)},
		{"getsockopt: tcp of udp", getsockopt, all(udp, 6, 1, buf, size)},
		{"getsockopt: ipv6 of inet", getsockopt, all(tcp, 41, 26, buf, size)},
		{"getsockopt: name", getsockopt, all(tcp, 1, 999, buf, size)},
		{"getsockopt: negative", getsockopt, all(tcp, 1, 3, buf, minus)},
		{"getsockopt: bad", getsockopt, all(tcp, 1, 3, bad, &[4]byte{4})},
		{"setsockopt: level", setsockopt, all(tcp, 999, 1, buf, 4)},
		{"setsockopt: level of unix", setsockopt, all(stream, 6, 1, buf, 4)},
		{"setsockopt: tcp of udp", setsockopt, all(udp, 6, 1, buf, 4)},
		{"setsockopt: ipv6 of inet", setsockopt, all(tcp, 41, 26, buf, 4)},
		{"setsockopt: name", setsockopt, all(tcp, 1, 999, buf, 4)},
		{"setsockopt: read-only", setsockopt, all(tcp, 1, 3, buf, 4)},
		{"setsockopt: short", setsockopt, all(tcp, 1, 2, buf, 3)},
		{"setsockopt: negative", setsockopt, all(tcp, 1, 2, buf, -1)},
		{"setsockopt: bad", setsockopt, all(tcp, 1, 2, bad, 4)},
		{"setsockopt: timeout", setsockopt, all(tcp, 1, 20, control(0, 1000000), 16)},
		{"setsockopt: timeout short", setsockopt, all(tcp, 1, 20, control(0, 0), 8)},
		{"lseek", syscall.SYS_LSEEK, all(sa, 0, 0)},
		{"pread", syscall.SYS_PREAD64, all(sa, buf, 1, 0)},
		{"ftruncate", syscall.SYS_FTRUNCATE, all(sa, 0)},
		{"read of nothing", syscall.SYS_READ, all(tcp, buf, 0)},
		{"readv of nothing", syscall.SYS_READV, all(tcp, good, 0)},
		{"readv: too many", syscall.SYS_READV, all(sa, good, 1025)},
		{"open a socket's name", syscall.SYS_OPEN, all([]byte("/none\x00"), 0, 0)},
	} {
		say("%s: %s", t.what, do(t.number, t.args...))
	}

	// SIGPIPE comes of streams, and not of messages.
	pipes := make(chan os.Signal, 10)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	for _, p := range []struct {
		what string
		a, b int
	}{{"stream", sa, sb}, {"dgram", da, db}, {"seqpacket", pa, pb}} {
		for _, flags := range []int{0, syscall.MSG_NOSIGNAL} {
			syscall.Close(p.b)
			got := do(sendto, p.a, buf, 1, flags, 0, 0)
			select {
			case <-pipes:
				got += " and SIGPIPE"
			case <-time.After(30 * time.Millisecond):
			}
			say("%s, peer gone, flags %#x: %s", p.what, flags, got)
		}
	}
	// A seqpacket's and a datagram's own ends, shut down.
	for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_SEQPACKET} {
		for how := range 3 {
			a, b := socketpair(kind)
			must(syscall.Write(b, []byte("before")))
			line := []string{do(shutdown, a, how)}
			line = append(line, do(sendto, a, buf, 1, quiet, 0, 0), do(sendto, b, buf, 1, quiet, 0, 0))
			for range 3 {
				line = append(line, do(recvfrom, a, buf, 64, quiet, 0, 0), do(recvfrom, b, buf, 64, quiet, 0, 0))
			}
			line = append(line, events(a), events(b))
			syscall.Close(a)
			line = append(line, do(sendto, b, buf, 1, quiet, 0, 0), do(recvfrom, b, buf, 64, quiet, 0, 0), do(recvfrom, b, buf, 64, quiet, 0, 0), events(b))
			say("type %d shut %d: %s", kind, how, strings.Join(line, "; "))
			syscall.Close(b)
		}
	}
	closeAll(tcp, tcp6, udp, stream, dgram, packet, sa, da, pa, ln, uln, null)
}

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Unix sockets, and what they carry.

func unixSockets() {
	dir := must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	check(os.Chdir(dir))
	for _, network := range []string{"unix", "unixpacket"} {
		for _, name := range []string{"name", "@abstract"} {
			ln := must(net.Listen(network, name))
			say("%s listens at %v", network, ln.Addr())
			say("second listener: %s", why(net.Listen(network, name)))
			c := must(net.Dial(network, name))
			s := must(ln.Accept())
			say("client %v to %v, server %v to %v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
			c.Write([]byte("one"))
			c.Write([]byte("two"))
			b := make([]byte, 100)
			say("%s", read(s, b))
			s.Write([]byte("answer"))
			s.Close()
			if network == "unixpacket" {
				say("a message, cut: %s", read(c, b[:3]))
			}
			say("%s", read(c, b))
			say("%s", read(c, b))
			say("write: %s", why(c.Write(b)))
			c.Close()
			c = must(net.Dial(network, name))
			ln.Close()
			say("not accepted: %s", why(c.Read(b)))
			c.Close()
			say("after close: %s", why(net.Dial(network, name)))
			_, err := os.Stat("name")
			say("the name: %v", err)
		}
	}
	a := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "a", Net: "unixgram"}))
	b := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@b", Net: "unixgram"}))
	c := must(net.DialUnix("unixgram", nil, &net.UnixAddr{Name: "a", Net: "unixgram"}))
	say("%v, %v, %v to %v", a.LocalAddr(), b.LocalAddr(), c.LocalAddr(), c.RemoteAddr())
	buf := make([]byte, 100)
	b.WriteTo([]byte("from b"), a.LocalAddr())
	say("%s", readFrom(a, buf))
	c.Write(nil)
	c.Write([]byte("from c"))
	say("%s", readFrom(a, buf))
	say("%s", readFrom(a, buf))
	say("no destination: %s", why(b.Write([]byte("x"))))
	say("WriteTo when connected: %s", why(c.WriteTo([]byte("x"), b.LocalAddr())))
	say("no such name: %s", why(b.WriteTo([]byte("x"), &net.UnixAddr{Name: "nobody", Net: "unixgram"})))
	say("no such abstract name: %s", why(b.WriteTo([]byte("x"), &net.UnixAddr{Name: "@nobody", Net: "unixgram"})))
	say("a stream to a datagram socket: %s", why(net.Dial("unix", "a")))
	a.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	say("deadline: %s", why(a.Read(buf)))
	a.Close()
	say("to nobody: %s", why(c.Write([]byte("x"))))
	say("and again: %s", why(c.Write([]byte("x"))))
	b.Close()
	c.Close()
}

// rights passes descriptors.
func rights() {
	a, b := socketpair(syscall.SOCK_STREAM)
	r, w := must2(os.Pipe())
	check(syscall.Sendmsg(a, []byte("with"), syscall.UnixRights(int(r.Fd()), int(w.Fd())), nil, 0))
	r.Close()
	w.Close()
	must(syscall.Write(a, []byte("without")))
	buf, oob := make([]byte, 100), make([]byte, 100)
	for range 2 {
		n, oobn, flags, _, err := syscall.Recvmsg(b, buf, oob, 0)
		say("%q, %d bytes of control, flags %#x, %v", buf[:n], oobn, flags, err)
		if oobn == 0 {
			continue
		}
		msgs := must(syscall.ParseSocketControlMessage(oob[:oobn]))
		fds := must(syscall.ParseUnixRights(&msgs[0]))
		must(syscall.Write(fds[1], []byte("through the pipe")))
		syscall.Close(fds[1])
		got, err := io.ReadAll(os.NewFile(uintptr(fds[0]), "pipe"))
		say("%d descriptors: %q %v", len(fds), got, err)
	}
	// No room for them, and too little.
	for _, room := range []int{0, 20, 24} {
		check(syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(0, 1, 2), nil, 0))
		n, oobn, flags, _, err := syscall.Recvmsg(b, buf, oob[:room], syscall.MSG_CMSG_CLOEXEC)
		say("room for %d: %d bytes, %d of control, flags %#x, %v", room, n, oobn, flags, err)
		if oobn > 0 {
			msgs := must(syscall.ParseSocketControlMessage(oob[:oobn]))
			closeAll(must(syscall.ParseUnixRights(&msgs[0]))...)
		}
	}
	say("a bad one: %v", syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(0, 999), nil, 0))
	say("too many: %v", syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(make([]int, 254)...), nil, 0))
	check(syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(make([]int, 253)...), nil, 0))
	closeAll(a, b)
	// Sockets in each other's buffers, which nobody can reach: more than any table holds.
	for i := range 500 {
		a, b := socketpair(syscall.SOCK_DGRAM)
		if err := syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(a, b), nil, 0); err != nil {
			say("cycle %d: %v", i, err)
			break
		}
		if err := syscall.Sendmsg(b, []byte("x"), syscall.UnixRights(a, b), nil, 0); err != nil {
			say("cycle %d: %v", i, err)
			break
		}
		closeAll(a, b)
	}
	// A chain of sockets, each in the next one's buffer, which falls at once.
	last := -1
	for range 40 {
		a, b := socketpair(syscall.SOCK_DGRAM)
		if last >= 0 {
			check(syscall.Sendmsg(a, []byte("x"), syscall.UnixRights(last), nil, 0))
			syscall.Close(last)
		}
		syscall.Close(a)
		last = b
	}
	syscall.Close(last)
	// The credentials of who sends.
	a, b = socketpair(syscall.SOCK_STREAM)
	check(syscall.SetsockoptInt(b, syscall.SOL_SOCKET, syscall.SO_PASSCRED, 1))
	must(syscall.Write(a, []byte("x")))
	_, oobn, _, _, err := syscall.Recvmsg(b, buf, oob, 0)
	check(err)
	msgs := must(syscall.ParseSocketControlMessage(oob[:oobn]))
	cred := must(syscall.ParseUnixCredentials(&msgs[0]))
	say("credentials: its own %t", int(cred.Pid) == os.Getpid())
	peer := must(syscall.GetsockoptUcred(a, syscall.SOL_SOCKET, syscall.SO_PEERCRED))
	say("of the peer: its own %t", int(peer.Pid) == os.Getpid())
	closeAll(a, b)
	// Nothing has been left open.
	fd := must(syscall.Dup(0))
	say("the next descriptor is below 16: %t", fd < 16)
	syscall.Close(fd)
}

// read reads once, and says what came.
func read(r io.Reader, b []byte) string {
	n, err := r.Read(b)
	return fmt.Sprintf("%q %s", b[:n], kindOf(err))
}

// readFrom is read with who sent it.
func readFrom(r net.PacketConn, b []byte) string {
	n, from, err := r.ReadFrom(b)
	return fmt.Sprintf("%q from %v, %s", b[:n], from, kindOf(err))
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}

func must2[T, U any](v T, w U, err error) (T, U) {
	check(err)
	return v, w
}

func socketpair(kind int) (a, b int) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(fmt.Sprint("socketpair: ", err))
	}
	return fds[0], fds[1]
}

package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A long sequence of operations that a seed chooses, on a few sockets, with what came of
// each and what poll then says of all. There is no model but the other system.

const slots = 10

type end struct {
	fd    int
	kind  string // "us", "ud", "up": a pair of unix sockets; "t": TCP; "u": UDP; "": free
	sends int    // so many, and no more: buffers differ in size, and must not get full
}

func model() {
	for seed := range uint64(6) {
		operations(seed, 250)
	}
}

func operations(seed uint64, count int) {
	const quiet = syscall.MSG_NOSIGNAL | syscall.MSG_DONTWAIT
	rnd := rand.New(rand.NewPCG(seed, 1))
	var ends [slots]end
	buf := make([]byte, 4096)
	for step := range count {
		i := rnd.IntN(slots)
		e := &ends[i]
		op := rnd.IntN(12)
		size := rnd.IntN(900)
		if rnd.IntN(6) == 0 {
			size = 0
		}
		other := &ends[rnd.IntN(slots)]
		flags := quiet
		if rnd.IntN(4) == 0 {
			flags |= syscall.MSG_PEEK
		}
		if rnd.IntN(4) == 0 {
			flags |= syscall.MSG_TRUNC
		}
		line := ""
		switch {
		case e.kind == "":
			kind := []string{"us", "ud", "up", "t", "u"}[rnd.IntN(5)]
			if other.kind != "" || other == e {
				continue
			}
			e.fd, other.fd = makePair(kind)
			e.kind, other.kind, e.sends, other.sends = kind, kind, 0, 0
			line = "new " + kind
		case op < 4:
			if e.sends == 6 || e.kind == "t" && size == 0 {
				continue
			}
			e.sends++
			for j := range buf[:size] {
				buf[j] = byte(step + j*7)
			}
			n, err := syscall.SendmsgN(e.fd, buf[:size], nil, nil, quiet)
			line = fmt.Sprint("send ", size, ": ", n, " ", err)
		case op < 9:
			if e.kind == "t" {
				flags &^= syscall.MSG_TRUNC // it throws away there
			}
			var oob [64]byte
			n, oobn, got, _, err := syscall.Recvmsg(e.fd, buf[:size], oob[:], flags)
			h := fnv.New32()
			if n > 0 {
				h.Write(buf[:min(n, size)])
			}
			line = fmt.Sprintf("recv %d %#x: %d %x %d %#x %v", size, flags, n, h.Sum32(), oobn, got, err)
			if oobn > 0 {
				msgs := must(syscall.ParseSocketControlMessage(oob[:oobn]))
				for _, fd := range must(syscall.ParseUnixRights(&msgs[0])) {
					line += " and " + events(fd)
					syscall.Close(fd)
				}
			}
		case op == 9:
			how := rnd.IntN(3)
			line = fmt.Sprint("shutdown ", how, ": ", syscall.Shutdown(e.fd, how))
		case op == 10 && rnd.IntN(2) == 0:
			n, err := syscall.GetsockoptInt(e.fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
			var unread int32
			_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(e.fd), 0x541b, uintptr(unsafe.Pointer(&unread)))
			_, err2 := syscall.Getpeername(e.fd)
			line = fmt.Sprint("ask: ", n, " ", err, " ", unread, " ", name(errno), " ", err2)
		case op == 10:
			if e.kind[0] != 'u' || len(e.kind) < 2 || other.kind == "" || e.sends == 6 {
				continue
			}
			e.sends++
			_, err := syscall.SendmsgN(e.fd, []byte("rights"), syscall.UnixRights(other.fd), nil, quiet)
			line = fmt.Sprint("rights: ", err)
		case op == 11:
			line = fmt.Sprint("close: ", syscall.Close(e.fd))
			e.kind = ""
		}
		if e.kind == "t" || e.kind == "" || strings.HasPrefix(line, "close") {
			time.Sleep(time.Millisecond) // Linux has packets, which may be under way
		}
		state := ""
		for j := range ends {
			if ends[j].kind != "" {
				state += fmt.Sprint(" ", j, events(ends[j].fd))
			}
		}
		say("%d.%d %d%s %s |%s", seed, step, i, e.kind, line, state)
	}
	for i := range ends {
		if ends[i].kind != "" {
			syscall.Close(ends[i].fd)
		}
	}
}

func makePair(kind string) (a, b int) {
	switch kind {
	case "us":
		return socketpair(syscall.SOCK_STREAM)
	case "ud":
		return socketpair(syscall.SOCK_DGRAM)
	case "up":
		return socketpair(syscall.SOCK_SEQPACKET)
	case "t":
		return blockingPair()
	}
	local := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	a = must(syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0))
	b = must(syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0))
	check(syscall.Bind(a, local))
	check(syscall.Bind(b, local))
	check(syscall.Connect(a, must(syscall.Getsockname(b))))
	check(syscall.Connect(b, must(syscall.Getsockname(a))))
	return a, b
}

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Filters of datagrams: which programs are taken, and what they let through.

// filters attaches programs to sockets and sends datagrams.
func filters() {
	const (
		ret, retA    = unix.BPF_RET | unix.BPF_K, unix.BPF_RET | unix.BPF_A
		all          = 1 << 18
		load         = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		other, outer = 1<<32 - 0x1000, 1<<32 - 0x300000
	)
	op := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(code uint16, k uint32, jt, jf uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code, K: k, Jt: jt, Jf: jf}
	}
	programs := [][]unix.SockFilter{
		{},
		{op(ret, all)}, {op(ret, 0)}, {op(ret, 1)}, {op(ret, 8)}, {op(ret, 9)}, {op(ret, 12)}, {op(retA, 0)}, {op(unix.BPF_RET|unix.BPF_X, 0)},
		{op(unix.BPF_LD|unix.BPF_LEN, 0), op(retA, 0)}, {op(unix.BPF_LDX|unix.BPF_LEN, 0), op(unix.BPF_MISC|unix.BPF_TXA, 0), op(retA, 0)},
		{op(load, 0), op(unix.BPF_LD|unix.BPF_IMM, 11), op(retA, 0)}, {op(load, 13), op(ret, all)}, {op(load, 1000), op(ret, all)},
		{op(load, 1<<32-1), op(ret, all)}, {op(load, outer), op(ret, all)}, {op(load, 1<<31), op(ret, all)},
		{op(unix.BPF_ALU|unix.BPF_DIV|unix.BPF_K, 0), op(ret, all)}, {op(unix.BPF_ALU|unix.BPF_MOD|unix.BPF_K, 0), op(ret, all)},
		{op(unix.BPF_ALU|unix.BPF_DIV|unix.BPF_X, 0), op(ret, all)}, {op(unix.BPF_ALU|unix.BPF_LSH|unix.BPF_K, 32), op(ret, all)},
		{op(unix.BPF_LD|unix.BPF_MEM, 0), op(ret, all)}, {op(unix.BPF_ST, 16), op(ret, all)}, {op(unix.BPF_LD|unix.BPF_IMM, 10), op(unix.BPF_ST, 15), op(unix.BPF_LDX|unix.BPF_MEM, 15), op(unix.BPF_MISC|unix.BPF_TXA, 0), op(retA, 0)},
		{jump(unix.BPF_JEQ, 0, 0, 1), op(unix.BPF_ST, 1), op(unix.BPF_LD|unix.BPF_MEM, 1), op(ret, all)},
		{jump(unix.BPF_JA, 0, 0, 0), op(ret, all)}, {jump(unix.BPF_JA, 1, 0, 0), op(ret, all)}, {jump(unix.BPF_JEQ, 0, 1, 0), op(ret, all)}, {jump(unix.BPF_JA, 1<<32-1, 0, 0), op(ret, all)},
		{op(unix.BPF_LD|unix.BPF_IMM, 1)}, {op(0xffff, 0), op(ret, all)},
		{op(unix.BPF_LDX|unix.BPF_B|unix.BPF_MSH, 8), op(unix.BPF_MISC|unix.BPF_TXA, 0), op(retA, 0)},
		{op(unix.BPF_LD|unix.BPF_B|unix.BPF_IND, 8), op(retA, 0)}, {op(unix.BPF_LD|unix.BPF_H|unix.BPF_IND, 8), jump(unix.BPF_JGT, 'a'<<8, 0, 1), op(ret, 10), op(ret, 11)},
	}
	for n := uint32(0); n < 64; n += 4 {
		switch n {
		case 12, 16, 32, 36, 52, 56: // what the kernel has not, or differs from one datagram to the next (36: the CPU)
		default: // as many bytes as it says
			programs = append(programs, []unix.SockFilter{op(load, other+n), op(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0x3ff), op(unix.BPF_ALU|unix.BPF_ADD|unix.BPF_K, 9), op(retA, 0)})
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 600 {
		var p []unix.SockFilter
		for range random.IntN(12) {
			p = append(p, someInstruction(random))
		}
		programs = append(programs, append(p, op([]uint16{ret, retA}[random.IntN(2)], uint32(random.IntN(30)))))
	}
	for _, network := range []string{"udp4", "udp6"} {
		for i, p := range programs {
			fmt.Println(network, i, filtered(network, p))
		}
	}
	wrongFilters()
}

// someInstruction draws one that is right more often than not.
func someInstruction(random *rand.Rand) unix.SockFilter {
	codes := []uint16{
		0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1, 0x02, 0x03, 0x07, 0x87,
		0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c, 0xa4, 0xac,
		0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x06, 0x16,
	}
	in := unix.SockFilter{Code: codes[random.IntN(len(codes))], K: uint32(random.IntN(20)), Jt: uint8(random.IntN(3)), Jf: uint8(random.IntN(3))}
	if random.IntN(60) == 0 {
		in.Code = uint16(random.IntN(256))
	}
	switch {
	case in.Code&7 == 5 && in.Code&0xf0 == 0:
		in.K %= 4
	case in.Code&0xe7 == 0x20, in.Code&0xe7 == 0xa1: // bytes whose values are known: no ports and no checksum
		in.K = 8 + uint32(random.IntN(20))
	case in.Code&0xe7 == 0x40:
		in.K = 8 + uint32(random.IntN(8))
	case in.Code&7 == 4 && random.IntN(3) == 0:
		in.K = random.Uint32()
	}
	if in.Code == 0x40 || in.Code == 0x48 || in.Code == 0x50 {
		in.Code -= 0x20 // with X it might be any byte
	}
	return in
}

// attach attaches a program and says how that went.
func attach(fd int, p []unix.SockFilter) string {
	prog := unix.SockFprog{Len: uint16(len(p))}
	if len(p) > 0 {
		prog.Filter = &p[0]
	}
	return kindOf(unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog))
}

// descriptor calls f with the descriptor of a socket.
func descriptor(c syscall.Conn, f func(fd int)) {
	check(must(c.SyscallConn()).Control(func(fd uintptr) { f(int(fd)) }))
}

// filtered says what comes of datagrams at a socket with that filter.
func filtered(network string, p []unix.SockFilter) string {
	c := must(net.ListenPacket(network, map[string]string{"udp4": "127.0.0.1:0", "udp6": "[::1]:0"}[network])).(*net.UDPConn)
	defer c.Close()
	var said string
	descriptor(c, func(fd int) { said = attach(fd, p) })
	if said != "no error" {
		return said
	}
	from := must(net.Dial(network, c.LocalAddr().String()))
	defer from.Close()
	for _, text := range []string{"", "a", "Abcd", "hello, world", strings.Repeat("long ", 300)} {
		fmt.Fprint(from, text)
	}
	// What the last one sends is not filtered, and comes behind the others.
	descriptor(c, func(fd int) {
		said += ", " + kindOf(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0))
	})
	fmt.Fprint(from, "the end")
	c.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 2000)
	for {
		n, err := c.Read(b)
		if err != nil {
			return said + ", " + kindOf(err)
		}
		if string(b[:n]) == "the end" {
			return said
		}
		said += fmt.Sprintf(" %.5q:%d", b[:n], n)
	}
}

// wrongFilters attaches what is none.
func wrongFilters() {
	c := must(net.ListenPacket("udp4", "127.0.0.1:0")).(*net.UDPConn)
	defer c.Close()
	pass := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_IMM, K: 5}, {Code: unix.BPF_RET | unix.BPF_K, K: 100}}
	descriptor(c, func(fd int) {
		const level = unix.SOL_SOCKET
		set := func(name int, v int32) string { return setOption(fd, level, name, word(v)) }
		fmt.Println("detach", set(unix.SO_DETACH_FILTER, 0))
		fmt.Println("wrong size", set(unix.SO_ATTACH_FILTER, 0))
		fmt.Println("no program", do(syscall.SYS_SETSOCKOPT, fd, level, unix.SO_ATTACH_FILTER, bad, 16), do(syscall.SYS_SETSOCKOPT, fd, level, unix.SO_ATTACH_FILTER, bad, 8))
		fmt.Println("attach", attach(fd, pass), "and another", attach(fd, pass[1:]))
	})
}

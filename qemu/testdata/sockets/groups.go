package main

import (
	"fmt"
	"net"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Multicast at lo.

// storage is an address as in struct group_req.
func storage(ip string) []byte {
	b := make([]byte, 128)
	if a := net.ParseIP(ip); a.To4() != nil {
		b[0] = unix.AF_INET
		copy(b[4:], a.To4())
	} else {
		b[0] = unix.AF_INET6
		copy(b[8:], a)
	}
	return b
}

// groupRequest is a struct group_req.
func groupRequest(index int32, group string) []byte {
	return append(append(word(index), 0, 0, 0, 0), storage(group)...)
}

// hello sends to groups as Go programs do. Linux has no way to groups of version 6 at lo, if nobody
// has made one.
func hello(groups ...string) {
	lo := must(net.InterfaceByName("lo")).Index
	for _, group := range groups {
		network, source := "udp4", "127.0.0.1"
		if strings.Contains(group, ":") {
			network, source = "udp6", "::1"
		}
		var all []*net.UDPConn
		port := 0
		for range 2 {
			c := must(net.ListenMulticastUDP(network, must(net.InterfaceByName("lo")), &net.UDPAddr{IP: net.ParseIP(group), Port: port}))
			all = append(all, c)
			port = c.LocalAddr().(*net.UDPAddr).Port
		}
		from := must(net.ListenUDP(network, &net.UDPAddr{IP: net.ParseIP(source)}))
		raw := must(from.SyscallConn())
		raw.Control(func(fd uintptr) {
			say("%s: %s %s", group, setOption(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, append(make([]byte, 8), word(int32(lo))...)),
				setOption(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, word(int32(lo))))
		})
		must(from.WriteToUDP([]byte("hello"), &net.UDPAddr{IP: net.ParseIP(group), Port: port}))
		for _, c := range all {
			b := make([]byte, 10)
			n, sender, err := c.ReadFromUDP(b)
			say("%q, its sender: %t, %v", b[:n], sender.String() == from.LocalAddr().String(), err)
			c.Close()
		}
		from.Close()
	}
}

func groups6() { hello("ff02::114", "ff05::7") }

func groups() {
	hello("224.0.0.254", "239.1.2.3")
	lo := must(net.InterfaceByName("lo")).Index
	for _, v := range []struct {
		family, level                 int
		any, here                     unix.Sockaddr
		at                            func(ip string, port int) unix.Sockaddr
		group, other, self            string
		loop, hops, one, info, number int
	}{
		{unix.AF_INET, 0, &unix.SockaddrInet4{}, local4, func(ip string, port int) unix.Sockaddr {
			return &unix.SockaddrInet4{Addr: [4]byte(net.ParseIP(ip).To4()), Port: port}
		}, "239.8.7.6", "239.8.7.5", "127.0.0.1", unix.IP_MULTICAST_LOOP, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_ALL, unix.IP_PKTINFO, unix.IP_RECVTTL},
		{unix.AF_INET6, 41, &unix.SockaddrInet6{}, local6, func(ip string, port int) unix.Sockaddr {
			return &unix.SockaddrInet6{Addr: [16]byte(net.ParseIP(ip)), Port: port}
		}, "ff05::8", "ff05::9", "::1", unix.IPV6_MULTICAST_LOOP, unix.IPV6_MULTICAST_HOPS, 29, unix.IPV6_RECVPKTINFO, unix.IPV6_RECVHOPLIMIT},
	} {
		to, at := bound(v.family, v.any)
		port := 0
		switch at := at.(type) {
		case *unix.SockaddrInet4:
			port = at.Port
		case *unix.SockaddrInet6:
			port = at.Port
		}
		from, _ := bound(v.family, v.here)
		setOption(from, 0, unix.IP_MULTICAST_IF, append(make([]byte, 8), word(int32(lo))...))
		setOption(from, 41, unix.IPV6_MULTICAST_IF, word(int32(lo)))
		hear := func(fd int) string { // what is sent at lo is there at once, or in no time
			for range 20 {
				if s := receive(fd, 200, 0); s != "resource temporarily unavailable" {
					return s
				}
				time.Sleep(time.Millisecond)
			}
			return "nothing"
		}
		send := func(group string) string {
			if v.level != 0 {
				return "not sent"
			}
			if err := unix.Sendto(from, []byte{'g'}, 0, v.at(group, port)); err != nil {
				return err.Error()
			}
			return hear(to)
		}
		const join, leave = unix.MCAST_JOIN_GROUP, unix.MCAST_LEAVE_GROUP
		names := map[int]string{join: "join", leave: "leave"}
		for i, step := range []struct {
			op    int
			group string
		}{
			{leave, v.group}, {join, v.group}, {join, v.group}, {leave, v.group}, {leave, v.group}, {join, v.group},
			{join, v.other}, {leave, v.other}, {join, v.self}, {join, "0.0.0.0"}, {leave, v.group},
		} {
			say("%d, step %d, %s %s: %s; %s; to another: %s", v.family, i, names[step.op], step.group,
				setOption(to, v.level, step.op, groupRequest(int32(lo), step.group)), send(v.group), send(v.other))
		}
		say("%d: no interface: %s; short: %s; not this family: %s", v.family, setOption(to, v.level, join, groupRequest(9999, v.group)),
			setOption(to, v.level, join, groupRequest(int32(lo), v.group)[:135]),
			setOption(to, v.level, join, groupRequest(int32(lo), map[int]string{0: "ff05::8", 41: "239.8.7.6"}[v.level])))
		// Who is in no group hears those that others are in, unless it says otherwise.
		check(unix.SetsockoptInt(to, v.level, v.info, 1))
		check(unix.SetsockoptInt(to, v.level, v.number, 1))
		member, _ := bound(v.family, v.any)
		say("%d: %s", v.family, setOption(member, v.level, join, groupRequest(int32(lo), v.group)))
		for _, all := range []int32{1, 0} {
			say("%d: all %d: %s, %s", v.family, all, setOption(to, v.level, v.one, word(all)), send(v.group))
		}
		setOption(to, v.level, v.one, word(1))
		for _, loop := range []int32{0, 1} {
			for _, hops := range []int32{0, 1, 9, -1} {
				say("%d: loop %d, hops %d: %s, %s, %s", v.family, loop, hops, setOption(from, v.level, v.loop, word(loop)), setOption(from, v.level, v.hops, word(hops)), send(v.group))
			}
		}
		// One bound to an address of its own hears no group; one bound to the group does.
		closeAll(to)
		to = fresh(v.family, unix.SOCK_DGRAM)
		check(unix.Bind(to, v.at(v.self, port)))
		say("%d: bound to %s: %s", v.family, v.self, send(v.group))
		closeAll(to)
		to = fresh(v.family, unix.SOCK_DGRAM)
		check(unix.Bind(to, v.at(v.group, port)))
		say("%d: bound to %s: %s, %s", v.family, v.group, send(v.group), send(v.other))
		closeAll(to)
		if v.level == 0 {
			say("%d: connect: %v", v.family, unix.Connect(from, v.at(v.group, port)))
		}
		closeAll(from, member)
		stream := fresh(v.family, unix.SOCK_STREAM)
		say("%d: stream: %s, %s", v.family, setOption(stream, v.level, v.hops, word(1)), setOption(stream, 0, unix.IP_MULTICAST_IF, word(0)))
		closeAll(stream)
	}
	// The older options of version 4.
	s := fresh(unix.AF_INET, unix.SOCK_DGRAM)
	group, self, none := []byte{239, 8, 7, 6}, []byte{127, 0, 0, 1}, []byte{10, 200, 200, 200}
	join := func(parts ...[]byte) []byte {
		var b []byte
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	for i, o := range []struct {
		name  int
		value []byte
	}{
		{unix.IP_ADD_MEMBERSHIP, join(group, self)}, {unix.IP_ADD_MEMBERSHIP, join(group, self)}, {unix.IP_DROP_MEMBERSHIP, join(group, self)}, {unix.IP_DROP_MEMBERSHIP, join(group, self)},
		{unix.IP_ADD_MEMBERSHIP, join(group, self, word(int32(lo)))}, {unix.IP_DROP_MEMBERSHIP, join(group, none, word(int32(lo)))},
		{unix.IP_ADD_MEMBERSHIP, join(group, none)}, {unix.IP_ADD_MEMBERSHIP, join(group, self, word(9999))}, {unix.IP_ADD_MEMBERSHIP, join(self, self)}, {unix.IP_ADD_MEMBERSHIP, group},
		{unix.IP_ADD_MEMBERSHIP, join(group, self)}, {unix.IP_DROP_MEMBERSHIP, join(group, self)},
		{unix.IP_MULTICAST_IF, self}, {unix.IP_MULTICAST_IF, none}, {unix.IP_MULTICAST_IF, join(group, self)}, {unix.IP_MULTICAST_IF, join(group, none, word(int32(lo)))},
		{unix.IP_MULTICAST_IF, join(group, none, word(9999))}, {unix.IP_MULTICAST_IF, word(0)}, {unix.IP_MULTICAST_IF, self[:3]},
	} {
		say("older %d: %s %s", i, setOption(s, 0, o.name, o.value), getOption(s, 0, unix.IP_MULTICAST_IF, 12))
	}
	// There is an end to how many groups one socket has.
	failed := ""
	for i := range 30 {
		if e := setOption(s, 0, unix.IP_ADD_MEMBERSHIP, join([]byte{239, 9, 9, byte(i)}, self)); e != "ok" {
			failed += fmt.Sprint(" ", i, " ", e)
		}
	}
	say("too many: %s", failed)
	// Everyone at lo.
	to, at := bound(unix.AF_INET, &unix.SockaddrInet4{})
	everyone := &unix.SockaddrInet4{Addr: [4]byte{127, 255, 255, 255}, Port: at.(*unix.SockaddrInet4).Port}
	check(unix.SetsockoptInt(to, 0, unix.IP_PKTINFO, 1))
	say("broadcast: %v, %v", unix.Sendto(s, []byte{'b'}, 0, everyone), unix.Connect(s, everyone))
	check(unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
	say("broadcast: %v, %s", unix.Sendto(s, []byte{'b'}, 0, everyone), receive(to, 200, 0))
	stream := fresh(unix.AF_INET, unix.SOCK_STREAM)
	say("a stream to all, and to a group: %v, %v", unix.Connect(stream, everyone), unix.Connect(stream, &unix.SockaddrInet4{Addr: [4]byte(group), Port: 80}))
	closeAll(s, to, stream)
}

// interfaces are what netlink says of lo, and which sockets need a privilege. Nothing here
// may change the machine, whoever runs it: no call that sets something of an interface is made.
func interfaces() {
	lo := must(net.InterfaceByName("lo"))
	say("%d %s %d %q %v", lo.Index, lo.Name, lo.MTU, lo.HardwareAddr, lo.Flags)
	say("%v %s", must(lo.Addrs()), must(net.InterfaceByIndex(lo.Index)).Name)
	say("none: %s", why(net.InterfaceByName("none0")))
	// An address of this machine goes out by its own interface.
	for _, s := range []struct {
		what string
		fd   int
	}{{"udp", fresh(unix.AF_INET, unix.SOCK_DGRAM)}, {"tcp6", fresh(unix.AF_INET6, unix.SOCK_STREAM)}, {"unix", fresh(unix.AF_UNIX, unix.SOCK_DGRAM)}} {
		for _, op := range []uint{unix.SIOCATMARK, unix.SIOCINQ, unix.SIOCOUTQ, unix.TCGETS} {
			line := ""
			var r [4]byte
			_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), uintptr(op), uintptr(unsafe.Pointer(&r)))
			line += fmt.Sprintf("; %s %x", name(e), r)
			say("%s, ioctl %#x%s", s.what, op, line)
		}
		say("%s, ioctl without memory: %s", s.what, do(unix.SYS_IOCTL, s.fd, unix.SIOCINQ, bad))
		unix.Close(s.fd)
	}
	for _, p := range [][3]int{{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {unix.AF_INET, unix.SOCK_RAW, 0}, {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6}, {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_UDP},
		{unix.AF_PACKET, unix.SOCK_RAW, 0}, {unix.AF_PACKET, unix.SOCK_DGRAM, 0x300}, {unix.AF_PACKET, unix.SOCK_STREAM, 0}, {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, {unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6}} {
		say("socket %v: %s", p, why(unix.Socket(p[0], p[1], p[2])))
	}
	// Netlink, message by message.
	n := must(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE))
	check(unix.SetNonblock(n, true))
	say("before: %+v", must(unix.Getsockname(n)))
	check(unix.Bind(n, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	own := must(unix.Getsockname(n)).(*unix.SockaddrNetlink).Pid
	say("bound: %t", int(own) == unix.Getpid())
	unix.Close(n)
}

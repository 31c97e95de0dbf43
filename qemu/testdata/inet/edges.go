package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// edges are servers for what clients seldom do. Of /accept the listener of port 21, whose backlog is
// one connection, begins to accept.
func edges() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: 21})
	}
	if err == nil {
		err = syscall.Listen(fd, 1)
	}
	if err != nil {
		panic(err)
	}
	file := os.NewFile(uintptr(fd), "tight")
	tight, err := net.FileListener(file)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/accept", func(http.ResponseWriter, *http.Request) {
		go accept(tight, func(c *net.TCPConn) { io.Copy(c, c) })
	})
	full, err := net.Listen("tcp", ":22")
	if err != nil {
		panic(err)
	}
	// It sends more than anybody takes, and then resets the connection.
	go accept(full, func(c *net.TCPConn) {
		c.SetLinger(0)
		c.SetWriteDeadline(time.Now().Add(time.Second))
		c.Write(make([]byte, 64<<20))
	})
	u, err := net.ListenUDP("udp4", &net.UDPAddr{Port: 23})
	if err != nil {
		panic(err)
	}
	go tell(u)
}

// accept serves connections, and closes them.
func accept(l net.Listener, serve func(*net.TCPConn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			serve(c.(*net.TCPConn))
			c.Close()
		}()
	}
}

// tell answers each datagram with what came with it.
func tell(u *net.UDPConn) {
	raw, _ := u.SyscallConn()
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTOS, 1)
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTTL, 1)
	})
	b, control := make([]byte, 1500), make([]byte, 200)
	for {
		_, n, _, from, err := u.ReadMsgUDPAddrPort(b, control)
		if err != nil {
			panic(err)
		}
		all, err := syscall.ParseSocketControlMessage(control[:n])
		text := fmt.Sprint("it came with ", err)
		for _, m := range all {
			text += fmt.Sprintf(" %d:%d", m.Header.Type, m.Data[0])
		}
		u.WriteToUDPAddrPort([]byte(text), from)
	}
}

// whole says how large a datagram may be that is not to be taken apart.
func whole(to string) {
	u, err := net.Dial("udp4", to)
	if err != nil {
		panic(err)
	}
	defer u.Close()
	raw, _ := u.(*net.UDPConn).SyscallConn()
	mtu := 0
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, syscall.IP_PMTUDISC_DO)
		mtu, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_MTU)
	})
	b := make([]byte, 1473)
	_, fits := u.Write(b[:1472])
	_, large := u.Write(b)
	say("whole", mtu, err, fits, errors.Is(large, syscall.EMSGSIZE))
}

// netlink says how many bytes there are on the addresses of all families, and of one that has none
// of its own, of which Linux tells all as well.
func netlink() {
	all, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	other, err2 := syscall.NetlinkRIB(syscall.RTM_GETADDR, 99)
	say("netlink", len(all) > 0, len(all) == len(other), err, err2)
}

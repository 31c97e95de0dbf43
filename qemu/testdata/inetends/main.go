// A program for TestInetEnds, whose neighbor ends connections in ways of its own. It imports nothing
// of Zeroframe's.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	hopLimit = syscall.IP_RECVTTL
	service  = syscall.IP_RECVTOS
	whole    = 2 // IP_PMTUDISC_DO: a datagram goes whole or not at all
)

func main() {
	peer := os.Args[1]
	connected(peer)
	zones()
	shared()
	datagrams := must(net.ListenPacket("udp4", ":9")).(*net.UDPConn)
	control(datagrams, func(fd int) {
		syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, hopLimit, 1)
		syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, service, 1)
	})
	listeners := []net.Listener{must(net.Listen("tcp4", ":1")), must(net.Listen("tcp4", ":2")),
		must(net.Listen("tcp4", ":3"))}
	small := crowded(4)
	fmt.Println("ready")
	finished(accepted(listeners[0]))
	full(accepted(listeners[1]))
	blocked(accepted(listeners[2]))
	arrives(datagrams) // the neighbor's connections wait by now
	for {
		c := must(small.Accept())
		c.Write([]byte("hello"))
		c.Close()
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func accepted(l net.Listener) *net.TCPConn { return must(l.Accept()).(*net.TCPConn) }

func control(c syscall.Conn, f func(fd int)) {
	must(c.SyscallConn()).Control(func(fd uintptr) { f(int(fd)) })
}

// connected says what a socket knows of the way to another machine.
func connected(peer string) {
	c := must(net.Dial("udp4", peer+":9")).(*net.UDPConn)
	defer c.Close()
	control(c, func(fd int) {
		mtu, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_MTU)
		fmt.Println("mtu", mtu, err)
		syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, whole)
		for _, n := range []int{1473, 1472} {
			_, err := syscall.Write(fd, make([]byte, n))
			fmt.Println(n, "bytes:", err)
		}
	})
}

// zones says what becomes of addresses of version 6, and in which order the machine's are.
func zones() {
	for _, to := range []string{"[fe80::1]:9", "[fe80::1%eth0]:9", "[2001:db8::1]:9"} {
		c, err := net.Dial("udp6", to)
		if err == nil {
			c.Close()
		}
		fmt.Println(to, err)
	}
	for _, a := range must(must(net.InterfaceByName("eth0")).Addrs()) {
		fmt.Println("own", a)
	}
}

// shared says whether two sockets that share a port each have some of the senders, of datagrams and
// of connections.
func shared() {
	const senders = 40
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 15, 1) // SO_REUSEPORT
		})
	}}
	var heard, taken [2]atomic.Int32
	for i := range heard {
		u := must(share.ListenPacket(context.Background(), "udp4", "127.0.0.1:5"))
		l := must(share.Listen(context.Background(), "tcp4", "127.0.0.1:5"))
		go func() {
			b := make([]byte, 1)
			for {
				_, from, _ := u.ReadFrom(b)
				heard[i].Add(1)
				u.WriteTo(b, from)
			}
		}()
		go func() {
			for {
				c := must(l.Accept())
				taken[i].Add(1)
				c.Close()
			}
		}()
	}
	for range senders {
		u, c := must(net.Dial("udp4", "127.0.0.1:5")), must(net.Dial("tcp4", "127.0.0.1:5"))
		u.Write([]byte("x"))
		u.Read(make([]byte, 1))
		io.ReadAll(c)
		u.Close()
		c.Close()
	}
	fair := func(n *[2]atomic.Int32) bool {
		a, b := n[0].Load(), n[1].Load()
		return a > senders/8 && b > senders/8 && a+b == senders
	}
	fmt.Println("shared:", fair(&heard), fair(&taken))
}

// finished writes after the other machine has sent all, and has then reset the connection.
func finished(c *net.TCPConn) {
	_, err := io.ReadAll(c)
	fmt.Println("end", err)
	for err == nil {
		_, err = c.Write([]byte("x"))
	}
	fmt.Println("after it:", err.(*net.OpError).Err)
	c.Close()
}

// full resets a connection whose other end reads nothing.
func full(c *net.TCPConn) {
	c.SetWriteDeadline(time.Now().Add(time.Second))
	for err := error(nil); err == nil; {
		_, err = c.Write(make([]byte, 1<<20))
	}
	c.SetLinger(0)
	fmt.Println("full", c.Close())
}

// blocked writes until the other machine resets the connection.
func blocked(c *net.TCPConn) {
	var err error
	for n := 0; err == nil; n++ {
		if n == 1 {
			fmt.Println("writes")
		}
		_, err = c.Write(make([]byte, 1<<16))
	}
	fmt.Println("reset:", err.(*net.OpError).Err)
	c.Close()
}

// arrives says how a datagram arrives.
func arrives(c *net.UDPConn) {
	more := make([]byte, 100)
	_, n, _, _, err := c.ReadMsgUDP(nil, more)
	fmt.Println("datagram", err)
	for _, m := range must(syscall.ParseSocketControlMessage(more[:n])) {
		fmt.Println("control", m.Header.Type, m.Data[0])
	}
}

// crowded is a listener with little room.
func crowded(port int) net.Listener {
	fd := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port}); err != nil {
		panic(err)
	}
	if err := syscall.Listen(fd, 1); err != nil {
		panic(err)
	}
	return must(net.FileListener(os.NewFile(uintptr(fd), "listener")))
}

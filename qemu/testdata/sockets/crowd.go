package main

import (
	"fmt"
	"net"
	"syscall"
	"time"
)

// crowd has n connections open at once, each with an end that waits in Go's poller, sends through
// all of them, and then takes descriptors until there are no more.
func crowd(n int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	var dialled []net.Conn
	echoes := make(chan error, n)
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		check(err)
		a, err := l.Accept()
		check(err)
		dialled = append(dialled, c)
		go func() {
			defer a.Close()
			b := make([]byte, 8)
			k, err := a.Read(b)
			if err == nil {
				_, err = a.Write(b[:k])
			}
			echoes <- err
		}()
	}
	right := 0
	for i := len(dialled) - 1; i >= 0; i-- {
		c := dialled[i]
		sent := fmt.Sprintf("%08d", i)
		_, err := c.Write([]byte(sent))
		check(err)
		check(<-echoes)
		b := make([]byte, 8)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if k, err := c.Read(b); err == nil && string(b[:k]) == sent {
			right++
		}
	}
	fmt.Println("===", n, "connections,", right, "echoes")
	for _, c := range dialled {
		c.Close()
	}
	var all []int
	for {
		fd, err := syscall.Dup(0)
		if err != nil {
			fmt.Println("descriptors until", err, len(all) > 100)
			break
		}
		all = append(all, fd)
	}
	for _, fd := range all {
		syscall.Close(fd)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	check(err)
	fmt.Println("and again:", c.RemoteAddr().String() == l.Addr().String())
}

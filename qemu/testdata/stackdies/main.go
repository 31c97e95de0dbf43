// Command stackdies talks to a server by a network's stack that dies, hangs or falls behind.
//
//	stackdies pieces|outs panic|processor|hang|late SERVER
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for linkname
)

// Buffers of package kernel/net/inet, which its goroutines take: pieces those that move the bytes of
// connections, outs whoever sends a frame, also the stack's own ones (tcp.processor).
//
//go:linkname pieces github.com/zeroframe/zeroframe/kernel/net/inet.pieces
var pieces sync.Pool

//go:linkname outs github.com/zeroframe/zeroframe/kernel/net/inet.outs
var outs sync.Pool

// deadline is that of a call.
var deadline = time.Minute

// hold is what a stack waits for that hangs.
var hold sync.Mutex

func main() {
	server := os.Args[3]
	c, err := net.Dial("tcp4", server)
	silent, err2 := net.Dial("tcp4", server)
	fmt.Println("connected:", err, err2, echo(c))
	waits := make(chan error, 1)
	go func() {
		_, err := silent.Read(make([]byte, 1))
		waits <- err
	}()
	spoil(map[string]*sync.Pool{"pieces": &pieces, "outs": &outs}[os.Args[1]], os.Args[2])
	fmt.Println("now")
	how := os.Args[2]
	if how == "hang" || how == "late" {
		deadline = time.Second
	}
	for how == "processor" { // until one of them is the first to need a buffer
		echo(c)
	}
	try("echo", func() error {
		for {
			began = time.Now()
			if err := echo(c); err != nil {
				return err
			}
			empty() // a buffer was in use the last time
		}
	})
	if how == "late" {
		hold.Unlock()
		deadline = time.Minute
	}
	try("dial", func() error {
		c, err := net.DialTimeout("tcp4", server, deadline)
		if err == nil {
			err = echo(c)
		}
		return err
	})
	if how == "panic" {
		fmt.Println("read:", <-waits)
	}
	deadline = time.Minute // these work, however slow the host is
	try("loopback", loopback)
	fmt.Println("the end")
}

// spoil changes what the stack's goroutines do when they take a new buffer, as they do after two
// collections of garbage.
func spoil(pool *sync.Pool, how string) {
	buffer := pool.New
	hold.Lock()
	pool.New = func() any {
		b := make([]byte, 1<<16)
		switch {
		case how == "panic", how == "processor" &&
			strings.Contains(string(b[:runtime.Stack(b, false)]), "tcp.(*processor)"):
			panic("the stack is broken")
		case how != "processor":
			hold.Lock()
			hold.Unlock()
		}
		return buffer()
	}
	empty()
	if how == "processor" {
		go drain(pool)
	}
}

// empty has the pools emptied.
func empty() {
	runtime.GC()
	runtime.GC()
}

// drain takes the buffers that others have put back; on one CPU it gets them all.
func drain(pool *sync.Pool) {
	for {
		pool.Get()
		runtime.Gosched()
	}
}

// echo sends bytes and wants them back.
func echo(c net.Conn) error {
	c.SetDeadline(time.Now().Add(deadline))
	_, err := io.WriteString(c, "hello")
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 5))
	}
	return err
}

// began is when the last call has begun.
var began time.Time

// try says what comes of calls, and whether the last one ends in time.
func try(what string, f func() error) {
	began = time.Now()
	err := f()
	late := ""
	if time.Since(began) > 10*deadline {
		late = " late"
	}
	fmt.Printf("%s:%s %v\n", what, late, err)
}

func loopback() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
		}
	}()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return err
	}
	return echo(c)
}

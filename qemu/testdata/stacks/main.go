// Stacks makes the kernel use its stacks: system calls that go deep, timers, interrupts,
// goroutines on several threads. Then it hangs, for the watchdog.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// files makes, renames, cuts and removes a file deep in the tree.
func files() {
	check(os.MkdirAll("/tmp/a/b/c/d/e/f", 0o777))
	f, err := os.Create("/tmp/a/b/c/d/e/f/file")
	check(err)
	_, err = f.WriteAt([]byte("far"), 1<<31)
	check(err)
	check(os.Symlink("/tmp/a/b/c", "/tmp/link"))
	check(os.Rename("/tmp/link/d/e/f/file", "/tmp/link/d/g"))
	check(f.Truncate(0))
	check(f.Close())
	_, err = os.ReadDir("/tmp/link/d")
	check(err)
	check(os.RemoveAll("/tmp/a"))
}

// rights sends a listener, to which somebody has connected, over a socket, and closes all
// of it before it has been received.
func rights() {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	c, err := net.Dial("tcp", l.Addr().String())
	check(err)
	f, err := l.(*net.TCPListener).File()
	check(err)
	check(syscall.Sendmsg(pair[0], []byte("x"), syscall.UnixRights(int(f.Fd())), nil, 0))
	check(f.Close())
	check(l.Close())
	check(syscall.Close(pair[0]))
	check(syscall.Close(pair[1]))
	c.Close()
}

// polls has one epoll instance watch another, which watches a pipe.
func polls() {
	var p [2]int
	check(syscall.Pipe(p[:]))
	inner, err := syscall.EpollCreate1(0)
	check(err)
	outer, err := syscall.EpollCreate1(0)
	check(err)
	check(syscall.EpollCtl(inner, syscall.EPOLL_CTL_ADD, p[0], &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 1}))
	check(syscall.EpollCtl(outer, syscall.EPOLL_CTL_ADD, inner, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: 2}))
	_, err = syscall.Write(p[1], []byte("x"))
	check(err)
	events := make([]syscall.EpollEvent, 4)
	if n, err := syscall.EpollWait(outer, events, -1); n != 1 || err != nil {
		panic(fmt.Sprint("epoll: ", n, err))
	}
}

func main() {
	files()
	rights()
	polls()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				time.Sleep(time.Millisecond)
				b := make([]byte, 1<<20)
				b[len(b)/2] = 1
				runtime.KeepAlive(b)
			}
		})
	}
	wg.Wait()
	func() {
		defer func() { recover() }()
		var p *int
		*p = 1
	}()
	runtime.GC()
	fmt.Println("hanging")
	time.Sleep(time.Hour)
}

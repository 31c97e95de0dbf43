// Load has the kernel do a bit of everything, with the timer ticking, and then panics,
// for the trace tells how deep the stacks have become.
package main

import (
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	end := time.Now().Add(500 * time.Millisecond)
	var wg sync.WaitGroup
	for _, run := range []func(){files, pipes, sockets, signals, memory, faults} {
		wg.Go(func() {
			runtime.LockOSThread() // a thread each, so that the kernel has some to switch
			for time.Now().Before(end) {
				run()
			}
		})
	}
	wg.Wait()
	panic("the load is done")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func files() {
	dir := must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, make([]byte, 100_000), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name, name+"b"); err != nil {
		panic(err)
	}
	must(os.ReadFile(name + "b"))
	must(os.ReadDir(dir))
}

func pipes() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() { w.Write(make([]byte, 100_000)); w.Close() }()
	must(io.ReadAll(r))
	r.Close()
}

func sockets() {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	go func() {
		c := must(l.Accept())
		io.Copy(c, c)
		c.Close()
	}()
	c := must(net.Dial("tcp", l.Addr().String()))
	defer c.Close()
	must(c.Write(make([]byte, 1000)))
	must(io.ReadFull(c, make([]byte, 1000)))
}

func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	<-c
	signal.Stop(c)
}

func memory() {
	b := must(syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	syscall.Mprotect(b[:1<<19], syscall.PROT_READ)
	syscall.Munmap(b)
	runtime.GC()
}

func faults() {
	defer func() { recover() }()
	var p *int
	*p = 1
}

// Waits is an ordinary Go program whose goroutines wait for all that goroutines can wait
// for. It prints what the Go runtime says of them, and then hangs, too. Other arguments
// make it a program that does not hang.
package main

import (
	"context"
	"fmt"
	"iter"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	unbuffered  = make(chan int)
	full        = make(chan int, 1)
	none        chan int
	mutex       sync.Mutex
	rw, reading sync.RWMutex
	group       sync.WaitGroup
	cond        = sync.NewCond(new(sync.Mutex))
	once        sync.Once
	pipe        *os.File
	blocking    [2]int // descriptors of a pipe that the network poller does not know
	listener    net.Listener
	packets     net.PacketConn
	silent      net.Conn
)

func onReceive() { <-unbuffered }
func onRange() {
	for range full {
		full <- 1
	}
}
func onSend()       { unbuffered2 <- 1 }
func onNilReceive() { <-none }
func onNilSend()    { none <- 1 }
func onForever()    { select {} }
func onMutex()      { mutex.Lock() }
func onReadLock()   { rw.RLock() }
func onWriteLock()  { reading.Lock() }
func onGroup()      { group.Wait() }
func onCond()       { cond.L.Lock(); cond.Wait() }
func onSleep()      { time.Sleep(time.Hour) }
func onTimer()      { <-time.After(time.Hour) }
func onPipe()       { pipe.Read(make([]byte, 1)) }
func onSyscall()    { syscall.Read(blocking[0], make([]byte, 1)) }
func onAccept()     { listener.Accept() }
func onPacket()     { packets.ReadFrom(make([]byte, 1)) }
func onConn()       { silent.Read(make([]byte, 1)) }
func onOnce()       { once.Do(func() { <-unbuffered }) }

var unbuffered2 = make(chan int)

func onSelect() {
	select {
	case <-unbuffered:
	case unbuffered2 <- 1:
	}
}

func onContext() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	<-ctx.Done()
}

func onLocked() {
	runtime.LockOSThread()
	<-unbuffered
}

// onIterator waits in a coroutine.
func onIterator() {
	next, stop := iter.Pull(func(yield func(int) bool) { <-unbuffered })
	defer stop()
	next()
}

// onFinalizer lets the runtime's goroutines that clean up wait, too.
//
//go:noinline
func onFinalizer() {
	p, q := new([100]int), new([200]int)
	runtime.SetFinalizer(p, func(*[100]int) { <-unbuffered })
	runtime.AddCleanup(q, func(int) { unbuffered2 <- 1 }, 1)
}

// onDeep waits at the end of a long chain of calls.
func onDeep() { deep(40) }

//go:noinline
func deep(n int) int {
	if n == 0 {
		return <-unbuffered
	}
	return deep(n-1) + 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func hang() {
	mutex.Lock()
	rw.Lock()
	reading.RLock()
	group.Add(1)
	var err error
	pipe, _, err = os.Pipe()
	must(err)
	must(syscall.Pipe(blocking[:]))
	listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(err)
	quiet, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	silent, err = net.Dial("tcp", quiet.Addr().String())
	must(err)
	packets, err = net.ListenPacket("udp", "127.0.0.1:0")
	must(err)
	for _, f := range []func(){
		onReceive, onRange, onSend, onNilReceive, onNilSend, onForever, onMutex, onReadLock, onWriteLock, onGroup, onCond,
		onSleep, onTimer, onPipe, onSyscall, onAccept, onPacket, onConn, onOnce, onSelect, onContext, onLocked, onIterator, onDeep,
	} {
		go f()
	}
	go func() { go onReceive(); <-unbuffered }()
	onFinalizer()
	runtime.GC()
	all, stacks := make([]byte, 1<<20), []byte(nil)
	for settled := false; !settled; { // until they wait
		time.Sleep(50 * time.Millisecond)
		stacks = all[:runtime.Stack(all, true)]
		settled = strings.Count(string(stacks), "\ngoroutine ") >= 28 && !strings.Contains(string(stacks), "[runnable") &&
			strings.Count(string(stacks), "[running") == 1 && strings.Contains(string(stacks), "[sleep")
	}
	os.Stdout.Write(stacks)
	fmt.Println("\nhanging")
	<-unbuffered
}

// many makes goroutines that wait alike. Of those on a receive the runtime knows since when:
// it notes it when it looks at their stacks.
func many() {
	begin := make(chan bool)
	for range 3 {
		go func() { <-begin; unbuffered2 <- 1 }()
	}
	for range 12 {
		go onReceive()
	}
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		runtime.GC()
	}
	close(begin)
	time.Sleep(300 * time.Millisecond)
	fmt.Println("hanging")
	time.Sleep(time.Hour)
}

func main() {
	switch os.Args[1] {
	case "many":
		many()
	case "hang":
		hang()
	case "spin":
		fmt.Println("spinning")
		spin()
	case "monitored": // with the runtime's monitor at work much of the time
		fmt.Println("spinning")
		go func() {
			for {
				syscall.Nanosleep(&syscall.Timespec{Nsec: 50_000}, nil)
			}
		}()
		spin()
	case "signalled": // in the handler of a signal most of the time
		fmt.Println("spinning")
		signalled()
	case "write": // a little now and then
		for range 12 {
			time.Sleep(500 * time.Millisecond)
			os.Stdout.WriteString(".")
		}
	case "read":
		zero, err := os.Open("/dev/zero")
		must(err)
		for range 12 {
			time.Sleep(500 * time.Millisecond)
			zero.Read(make([]byte, 1))
		}
	case "sleep":
		time.Sleep(6 * time.Second)
	}
	fmt.Println("done")
}

var sink int

//go:noinline
func signalled() {
	for {
		syscall.Kill(syscall.Getpid(), syscall.SIGURG)
	}
}

//go:noinline
func spin() {
	for {
		sink++
	}
}

package main

// Channels that nobody serves.

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"syscall"
)

// Stages in a row, each with a full channel behind it; the last one has gone.
func chain() {
	a, b, c := make(chan int, 1), make(chan int, 1), make(chan int, 1)
	go stage(a, b)
	go stage(b, c)
	go sink(c)
	for i := 0; ; i++ {
		a <- i
	}
}

//go:noinline
func stage(in, out chan int) {
	for n := range in {
		out <- n + 1
	}
	close(out)
}

//go:noinline
func sink(in chan int) { fmt.Println(<-in) }

// A channel that was never made.
type hub struct{ events chan string }

func nilChan() {
	h := new(hub)
	h.listen()
}

//go:noinline
func (h *hub) listen() { fmt.Println(<-h.events) }

// A merge that sets what is closed to nil, and forgets to end; and other selects all or some of
// whose channels are nil.
func nilSelects() {
	a, b := make(chan int), make(chan int)
	close(a)
	close(b)
	go mixed(nil, nil)
	go thousand(nil)
	go thousand(make(chan int))
	merge(a, b)
}

//go:noinline
func merge(a, b <-chan int) {
	for {
		select {
		case _, ok := <-a:
			if !ok {
				a = nil
			}
		case _, ok := <-b:
			if !ok {
				b = nil
			}
		}
	}
}

//go:noinline
func mixed(in <-chan string, out chan<- int) {
	select {
	case s := <-in:
		fmt.Println(s)
	case out <- 1:
	}
}

//go:noinline
func thousand(last chan int) {
	cases := make([]reflect.SelectCase, 1000)
	for i := range cases {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf((chan int)(nil))}
	}
	cases[len(cases)-1].Chan = reflect.ValueOf(last)
	reflect.Select(cases)
}

// A select none of whose cases comes.
func selectNone() {
	stop, news := make(chan bool), make(chan string)
	listen(stop, news)
	close(stop)
}

//go:noinline
func listen(stop chan bool, news chan string) {
	select {
	case <-stop:
	case s := <-news:
		fmt.Println(s)
	}
}

// A pool of two, and two that want two each.
type conn struct{ n int }

var conns = make(chan *conn, 2)

func pool() {
	conns <- &conn{1}
	conns <- &conn{2}
	var all, have sync.WaitGroup
	have.Add(2)
	for range 2 {
		all.Go(func() { transfer(&have) })
	}
	all.Wait()
}

//go:noinline
func transfer(have *sync.WaitGroup) {
	from := <-conns
	have.Done()
	have.Wait()
	to := <-conns
	from.n, to.n = to.n, from.n
	conns <- to
	conns <- from
}

// A system call that does not return, by one who has what others want.
type device struct {
	mu sync.Mutex
	fd int
}

func inSyscall() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	d := &device{fd: p[0]}
	begun := make(chan bool)
	go d.read(begun)
	<-begun
	stopped()
	d.close()
	syscall.Close(p[1])
}

//go:noinline
func (d *device) read(begun chan bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(begun)
	var b [1]byte
	syscall.Read(d.fd, b[:])
}

//go:noinline
func (d *device) close() {
	d.mu.Lock()
	syscall.Close(d.fd)
	d.mu.Unlock()
}

// Work for the main thread alone, whose goroutine waits for the one that wants it done.
var mainWork = make(chan func())

func lockedThread() {
	runtime.LockOSThread()
	done := make(chan bool)
	go draw(done)
	<-done // and serves mainWork only after it
	for f := range mainWork {
		f()
	}
}

//go:noinline
func draw(done chan bool) {
	onMain(func() { fmt.Println("draws") })
	close(done)
}

//go:noinline
func onMain(f func()) {
	ended := make(chan bool)
	mainWork <- func() { f(); close(ended) }
	<-ended
}

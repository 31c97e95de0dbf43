// Dead is a program with goroutines in many states and variables of many kinds, which dies.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

type node struct {
	name string
	next *node
}

type T struct{ a, b int }

var (
	list   *node
	m      = map[string]int{"k": 42, "z": 1}
	s      = []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	c      = make(chan int, 5)
	iface  any
	mu     sync.Mutex
	group  sync.WaitGroup
	nested = map[int][]string{7: {"x", "y"}}
	large  = map[int]*node{}
	held   [][]byte
	fn     func() int
)

//go:noinline
func worker(ctx context.Context, id int, p *node) int {
	pprof.Do(ctx, pprof.Labels("job", fmt.Sprint(id)), func(context.Context) { <-make(chan int) })
	return len(p.name) + id
}

//go:noinline
func wait[E any](ch chan E) E { return <-ch }

func inlined(ch chan int) int { return <-ch }

func outer(ch chan int) int { return inlined(ch) + 1 }

//go:noinline
func deep(n int, p *node, ready chan int) int {
	local := n * 3
	if n == 0 {
		ready <- local
		select {}
	}
	return deep(n-1, p, ready) + local + len(p.name)
}

// fill makes what held holds. It is a function of its own, so that no word of main's frame holds it, too; an array
// that has grown would leave others behind.
//
//go:noinline
func fill() {
	held = make([][]byte, 0, 50)
	for range 50 {
		held = append(held, make([]byte, 10000))
	}
}

// clearStack overwrites what calls have left on the stack.
//
//go:noinline
func clearStack() {
	var b [8 << 10]byte
	for i := range b {
		b[i] = byte(i & 1)
	}
	cleared = b[len(b)-1]
}

var cleared byte

func main() {
	for i := range 1000 {
		list = &node{name: fmt.Sprint("n", i), next: list}
		large[i] = &node{name: "l"}
	}
	iface = &T{3, 4}
	clearStack() // the stack has grown: no old one has what comes
	fill()
	clearStack()
	captured := &T{5, 6}
	fn = func() int { return captured.a }
	c <- 1
	c <- 2
	fmt.Fprint(os.Stdout, len(s), iface.(*T).a, nested[7], fn(), "\n")
	ready := make(chan int)
	for i := range 3 {
		go worker(context.Background(), i, list)
	}
	go wait(make(chan string))
	go outer(make(chan int))
	go deep(5, list, ready)
	<-ready
	mu.Lock()
	go func() { mu.Lock() }()
	group.Add(1)
	go group.Wait()
	go time.Sleep(time.Hour)
	go func() {
		runtime.LockOSThread()
		select {
		case <-make(chan int):
		case <-make(chan bool):
		}
	}()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	go func() {
		var b [1]byte
		syscall.Read(fds[0], b[:])
	}()
	text := make([]byte, 1<<16) // once: the collector must not run from here on
	blocked := func() bool {    // all of them wait, so that a traceback and a core see the same
		b := text[:runtime.Stack(text, true)]
		n := 0
		for i := 0; i+2 < len(b); i++ {
			if string(b[i:i+2]) == "[r" && string(b[i:i+8]) != "[running" {
				n++ // runnable
			}
		}
		return n == 0
	}
	for !blocked() {
		runtime.Gosched()
	}
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	println("HeapAlloc", st.HeapAlloc, "HeapObjects", st.HeapObjects)
	panic("dead")
}

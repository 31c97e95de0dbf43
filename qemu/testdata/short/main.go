// Short is a program that dies in the way that its argument names, for the test of how zf run shows
// a death.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type node struct {
	left *node
	v    int
}

func (n *node) sum(depth int, note string) int { return n.v + n.left.sum(depth+1, note) }

//go:noinline
func deep(n int) int { return n + deep(n+1) }

func deadlock() {
	var a, b sync.Mutex
	var wg sync.WaitGroup
	c := make(chan int)
	wg.Add(2)
	go func() { a.Lock(); c <- 1; b.Lock(); wg.Done() }()
	go func() { b.Lock(); <-c; a.Lock(); wg.Done() }()
	wg.Wait()
}

//go:noinline
func spin() {
	for i := 0; ; i++ {
		if i < 0 {
			i = 0
		}
	}
}

var nilMap map[string]int

func main() {
	fmt.Println("to standard output")
	fmt.Fprintln(os.Stderr, "to standard error")
	switch os.Args[1] {
	case "nil":
		(&node{v: 3, left: &node{v: 4}}).sum(0, "a note")
	case "map":
		nilMap["key"]++
	case "overflow":
		deep(0)
	case "deadlock":
		deadlock()
	case "repanic":
		defer func() { panic(fmt.Errorf("again: %v", recover())) }()
		panic(errors.New("first\nof two lines"))
	case "chatty":
		go func() {
			for i := 0; ; i++ {
				fmt.Println("working (ok)", i)
				time.Sleep(time.Millisecond)
			}
		}()
		time.Sleep(20 * time.Millisecond)
		panic("boom")
	case "spin":
		go spin()
		spin()
	case "sleep":
		time.Sleep(time.Hour)
	case "lives":
		fmt.Println("panic: not really")
		time.Sleep(10 * time.Millisecond)
		fmt.Println("zf1 begin 1 panic goroutine")
		fmt.Print("and no end of line")
	case "exit":
		status, _ := strconv.Atoi(os.Args[2])
		os.Exit(status)
	case "both":
		both()
	case "abort":
		syscall.Kill(syscall.Getpid(), syscall.SIGABRT)
	case "nodes":
		for {
			list = &node{left: list}
		}
	case "rows":
		for {
			r := make([]row, 100)
			for i := range r {
				r[i].cells[0] = i
			}
			rows = append(rows, r)
		}
	case "hoard": // of memory that is not written
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case "piece": // more at once than there is
		hoard = append(hoard, make([]byte, 1<<40))
	case "mutual":
		walk(0)
	}
}

// What the heap has when there is no memory any more.
var (
	hoard [][]byte
	list  *node
	rows  [][]row
)

type row struct {
	name  string
	cells [500]int
}

// both writes bytes of all kinds to both outputs, in pieces, and what looks like the escape sequences
// of a machine with a virtio console.
func both() {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 500 {
		p := make([]byte, r.IntN(40))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		if i%25 == 0 {
			p = fmt.Appendf(p, "\x1b]zf-%s;%d\a", []string{"port", "errs", "com1", "stdin"}[r.IntN(4)], r.IntN(i+1))
		}
		to := []*os.File{os.Stdout, os.Stderr}[r.IntN(2)]
		to.Write(p)
	}
	for _, name := range []string{"/dev/stderr", "/dev/stdout", "/dev/fd/2", "/proc/self/fd/2"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, "by", name)
		f.Close()
	}
	os.Stderr.Write(make([]byte, 100_000))
	os.Stdout.WriteString("no end of line")
	syscall.Dup2(1, 2) // from here on there is no standard error
	os.Stderr.WriteString(", and more")
	fmt.Fprint(os.Stdout, ", end")
}

//go:noinline
func walk(n int) int { return n + visit(n+1) }

//go:noinline
func visit(n int) int { return n + walk(n) }

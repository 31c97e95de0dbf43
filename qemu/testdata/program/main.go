// Program is an ordinary Go program: it uses what the Go runtime asks of its operating
// system, checks what it gets, and says so.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func check(what string, ok bool) {
	if !ok {
		panic(what)
	}
	fmt.Println("ok", what)
}

//go:noinline
func second(p *[2]int) int { return p[1] }

func main() {
	check("args", strings.Join(os.Args[1:], "|") == `a b|"q"|`+"\\||ü")
	check("environment", os.Getenv("GREETING") == "hello there")

	var wg sync.WaitGroup
	numbers := make(chan int)
	for range 50 {
		wg.Go(func() {
			for i := range 100 {
				numbers <- i
			}
		})
	}
	go func() { wg.Wait(); close(numbers) }()
	sum := 0
	for n := range numbers {
		sum += n
	}
	check("goroutines", sum == 50*4950)

	var kept [][]byte
	for i := range 3000 {
		b := make([]byte, 10000)
		b[i] = byte(i)
		if kept = append(kept, b); len(kept) > 100 {
			kept = kept[50:]
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	check("garbage collector", m.NumGC > 0)

	recovered := 0
	for range 1000 {
		func() {
			defer func() {
				if recover() != nil {
					recovered++
				}
			}()
			second(nil)
		}()
	}
	check("recovered faults", recovered == 1000)

	go func() {
		for {
		}
	}()
	time.Sleep(20 * time.Millisecond)
	check("preemption", true)

	name := os.TempDir() + "/file"
	err := os.WriteFile(name, []byte("contents"), 0o600)
	b, err2 := os.ReadFile(name)
	check("files", err == nil && err2 == nil && string(b) == "contents")

	r, w, err := os.Pipe()
	check("pipe", err == nil)
	go func() { time.Sleep(time.Millisecond); w.Write([]byte("x")) }()
	n, err := r.Read(make([]byte, 1))
	check("pipe read", n == 1 && err == nil)

	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	check("signal", <-c == syscall.SIGUSR1)

	fmt.Println("sleeping")
	start := time.Now()
	time.Sleep(time.Second)
	d := time.Since(start)
	fmt.Println("slept", d.Milliseconds(), "ms at", start.Unix())
	os.Exit(9)
}

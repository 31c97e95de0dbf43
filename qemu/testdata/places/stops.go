package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

func init() {
	for name, f := range map[string]func(){
		"channel":     func() { <-make(chan int) },    // dies: channel
		"send":        func() { make(chan int) <- 1 }, // dies: send
		"nil-channel": func() { var c chan int; <-c }, // dies: nil-channel
		"select":      func() { select {} },           // dies: select
		"select-two":  func() { selectTwo(make(chan int), make(chan int)) },
		"mutex":       func() { var mu sync.Mutex; mu.Lock(); mu.Lock() },                    // dies: mutex
		"rwmutex":     func() { var mu sync.RWMutex; mu.RLock(); mu.Lock() },                 // dies: rwmutex
		"waitgroup":   func() { var wg sync.WaitGroup; wg.Add(1); wg.Wait() },                // dies: waitgroup
		"cond":        func() { c := sync.NewCond(&sync.Mutex{}); c.L.Lock(); c.Wait() },     // dies: cond
		"once-again":  func() { var once sync.Once; once.Do(func() { once.Do(func() {}) }) }, // dies: once-again
		"done":        func() { var wg sync.WaitGroup; wg.Done() },                           // dies: done
		"unlock":      func() { var mu sync.Mutex; mu.Unlock() },                             // dies: unlock
		"runlock":     func() { var mu sync.RWMutex; mu.RUnlock() },                          // dies: runlock
		"close":       func() { c := make(chan int); close(c); close(c) },                    // dies: close
		"close-nil":   func() { var c chan int; close(c) },                                   // dies: close-nil
		"send-closed": func() { c := make(chan int, 1); close(c); c <- 1 },                   // dies: send-closed
		"abort":       func() { syscall.Kill(syscall.Getpid(), syscall.SIGABRT) },            // dies: abort
		"exit":        func() { os.Exit(3) },
		"log-fatal":   func() { log.Fatal("a fatal error") },
		"goexit":      func() { runtime.Goexit() },
		"huge":        func() { huge = make([]byte, 1<<40+zero) },     // dies: huge
		"sleep":       func() { time.Sleep(time.Hour) },               // dies: sleep
		"read":        func() { r, _, _ := os.Pipe(); io.ReadAll(r) }, // dies: read
		"two":         twoWait,
		"map-writes":  mapWrites,
		"overflow":    func() { overflow(1) },
		"memory":      memory,
		"handler":     handler,
		"spin":        spin,
		"accept":      accept,
		"in-deferred": inDeferred,
		"spin-library": func() {
			for {
				zero += len(strings.Repeat("ab", 1<<20)) // dies: spin-library
			}
		},
		"spin-three": spinThree,
		"blocked":    blocked,
	} {
		deaths[name] = f
	}
}

var (
	huge   []byte
	mutex  sync.Mutex
	shared = map[key]int{}
)

// key takes so long to compare that a goroutine is soon interrupted within a write.
type key [1000]float64

func selectTwo(a, b chan int) {
	select { // dies: select-two
	case <-a:
	case b <- 1:
	}
}

// twoWait has a goroutine that waits for a lock, too.
func twoWait() {
	mutex.Lock()
	done := make(chan bool)
	go func() {
		mutex.Lock()
		close(done)
	}()
	<-done // dies: two
}

func mapWrites() {
	for range 4 {
		go func() {
			for {
				write()
			}
		}()
	}
	select {}
}

//go:noinline
func write() {
	for i := range 1000 {
		shared[key{len(key{}) - 1: float64(i & 3)}] = i // dies: map-writes
	}
}

//go:noinline
func overflow(n int) int { // dies: overflow
	return overflow(n+1) + 1
}

func memory() {
	var all [][]byte
	for {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1 // dies: memory
		}
		all = append(all, b)
	}
}

// handler makes a handler of package http end the program: its panics are recovered, a fatal error
// is not.
func handler() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	go http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mutex.Unlock() // dies: handler
	}))
	http.Get("http://" + l.Addr().String())
}

//go:noinline
func spin() {
	for ; ; zero++ { // dies: spin
	}
}

// spinThree has three goroutines run for ever, each on a thread of its own.
func spinThree() {
	runtime.GOMAXPROCS(3)
	fmt.Println("spinning")
	go turn()
	go turn()
	turn()
}

//go:noinline
func turn() {
	for ; ; zero++ { // dies: spin-three
	}
}

func accept() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	l.Accept() // dies: accept
}

// blocked has goroutines that wait alike, and none that runs.
func blocked() {
	c := make(chan int)
	for range 3 {
		go func() { c <- 1 }()
	}
	r, _, _ := os.Pipe()
	io.ReadAll(r) // dies: blocked
}

// inDeferred gives up while it panics.
func inDeferred() {
	defer func() {
		mutex.Unlock() // again: in-deferred
	}()
	panic("the first") // dies: in-deferred
}

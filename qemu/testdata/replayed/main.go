// Replayed is what is recorded and replayed: its argument says what it does, and a number how.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type node struct{ left, right *node }

// tree is garbage.
func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

// rounds counts those of all goroutines.
var rounds int64

// work has goroutines sleep, allocate and talk, each time in another order: the seeds of math/rand's own source
// and of select are the kernel's.
func work(seed int64) {
	start := time.Now()
	r := rand.New(rand.NewSource(seed))
	pairs := make([]chan int, 4)
	for i := range pairs {
		pairs[i] = make(chan int)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		nap := time.Duration(r.Intn(20)) * time.Millisecond
		wg.Go(func() {
			for j := range 5 {
				time.Sleep(nap + time.Duration(rand.Intn(3000))*time.Microsecond)
				tree(8 + rand.Intn(4))
				n := atomic.AddInt64(&rounds, 1)
				select {
				case got := <-pairs[rand.Intn(4)]:
					fmt.Println(i, j, "got", got, n, time.Since(start))
				case pairs[rand.Intn(4)] <- i:
				case <-time.After(time.Duration(rand.Intn(2000)) * time.Microsecond):
					fmt.Println(i, j, "alone", n, time.Since(start))
				}
			}
		})
	}
	wg.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(m.NumGC, m.Mallocs, time.Since(start), time.Now().UTC(), rand.Int63())
	fmt.Println("work", seed, "is done")
}

// turn counts those of turns.
var turn int

// turns has some work, some garbage and some sleep in each, until there is a line of input, or at the most so many.
func turns(most int, say string) {
	var over atomic.Bool
	go func() {
		if bufio.NewScanner(os.Stdin).Scan() {
			over.Store(true)
		}
	}()
	start := time.Now()
	for turn = 0; turn < most && !over.Load(); turn++ {
		tree(6)
		time.Sleep(time.Duration(rand.Intn(3000)) * time.Microsecond)
		fmt.Println("turn", turn, time.Since(start), say)
	}
}

//go:noinline
func done() { time.Sleep(time.Millisecond) }

//go:noinline
func die() {
	var n *node
	fmt.Println(n.left)
}

func main() {
	number := 0
	if len(os.Args) > 2 {
		number, _ = strconv.Atoi(os.Args[2])
	}
	switch os.Args[1] {
	case "work":
		work(int64(number))
		done()
	case "die":
		work(int64(number))
		die()
	case "exit":
		os.Exit(number)
	case "echo":
		n, start := 0, time.Now()
		for s := bufio.NewScanner(os.Stdin); s.Scan(); n++ {
			fmt.Printf("%q at %v\n", s.Text(), time.Since(start))
		}
		fmt.Println(n, "lines")
	case "turns":
		turns(number, "")
		die()
	case "chat":
		turns(number, strings.Repeat("and so on ", 20))
		die()
	case "forever":
		for i := 0; ; i++ {
			fmt.Println("line", i, time.Now().UTC())
			if i%100 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

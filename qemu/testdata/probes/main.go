// Probes counts by itself how often each of its functions is called, and how often one
// does not return. Probes must count the same. With an argument it does less of all.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	mu     sync.Mutex
	calls  = map[string]*[2]atomic.Int64{}
	inside atomic.Int64
)

// note counts a call, or with left one that does not return.
//
//go:noinline
func note(name string, left int) {
	mu.Lock()
	c := calls[name]
	if c == nil {
		c = new([2]atomic.Int64)
		calls[name] = c
	}
	mu.Unlock()
	c[left].Add(1)
}

//go:noinline
func recurse(n int) int {
	note("main.recurse", 0)
	if n == 0 {
		return 1
	}
	return recurse(n-1) + 1
}

// grow has a frame for which the stack moves again and again.
//
//go:noinline
func grow(n int) int {
	var room [300]int
	note("main.grow", 0)
	room[n&255] = n
	if n == 0 {
		return 0
	}
	return grow(n-1) + room[n&255]
}

// huge has a frame that takes the longest check of the stack.
//
//go:noinline
func huge(n int) byte {
	var room [1 << 16]byte
	note("main.huge", 0)
	room[n] = byte(n)
	return room[n/2] + 1
}

//go:noinline
func throws(n int) int {
	note("main.throws", 0)
	note("main.throws", 1)
	if n == 0 {
		panic("thrown")
	}
	return throws(n-1) + 1
}

//go:noinline
func catches(n int) (got any) {
	note("main.catches", 0)
	defer func() { got = recover() }()
	throws(n)
	return nil
}

// throwsAgain panics in a deferred function while it panics.
//
//go:noinline
func throwsAgain() {
	note("main.throwsAgain", 0)
	note("main.throwsAgain", 1)
	defer func() { catches(2); panic("again") }()
	throws(1)
}

//go:noinline
func catchesAgain() (got any) {
	note("main.catchesAgain", 0)
	defer func() { got = recover() }()
	throwsAgain()
	return nil
}

//go:noinline
func defers(n int) (sum int) {
	note("main.defers", 0)
	for i := range n {
		defer func() { sum += i }()
	}
	return n
}

//go:noinline
func exits(n int) {
	note("main.exits", 0)
	note("main.exits", 1)
	if n == 0 {
		runtime.Goexit()
	}
	exits(n - 1)
}

// load faults in its first instruction if p is nil, and has no frame.
//
//go:noinline
func load(p *int) int { return *p }

//go:noinline
func loads(p *int) (v int, err any) {
	note("main.loads", 0)
	note("main.load", 0)
	if p == nil {
		note("main.load", 1)
	}
	defer func() { err = recover() }()
	return load(p), nil
}

//go:noinline
func works(c chan int, n int) int {
	note("main.works", 0)
	sum := 0
	for i := range n {
		runtime.Gosched()
		sum += <-c
		sum += steps(i)
	}
	return sum
}

//go:noinline
func steps(i int) int {
	note("main.steps", 0)
	runtime.Gosched()
	return i
}

var stop atomic.Bool

// spins is preempted inside, where it calls nothing, and calls spun.
//
//go:noinline
func spins(x uint64) uint64 {
	note("main.spins", 0)
	for i := 0; i < 3_000_000 || !stop.Load() && i < 300_000_000; i++ {
		x = x*6364136223846793005 + 1
	}
	for range 100 {
		x += spun(x)
	}
	return x
}

//go:noinline
func spun(x uint64) uint64 {
	note("main.spun", 0)
	return x >> 3
}

//go:noinline
func sleeps() {
	note("main.sleeps", 0)
	time.Sleep(30 * time.Millisecond)
}

type shape interface{ area(scale float64) float64 }
type square struct{ side float64 }

//go:noinline
func (s square) area(scale float64) float64 {
	note("main.square.area", 0)
	return s.side * s.side * scale
}

//go:noinline
func generic[T int | string](v T, n int) T {
	note("main.generic[...]", 0)
	for range n {
		v += v
	}
	return v
}

//go:noinline
func blocks() {
	note("main.blocks", 0)
	inside.Add(1)
	select {}
}

func main() {
	failed := false
	check := func(what string, got, want any) {
		if got != want {
			failed = true
			fmt.Println("WRONG", what, got, want)
		}
	}
	scale := 20
	if len(os.Args) > 1 {
		scale = 1
	}
	check("recurse", recurse(1000*scale), 1000*scale+1)
	check("grow", grow(200), 200*201/2)
	check("huge", huge(3), byte(1))
	for i := range 50 {
		check("catches", catches(i), "thrown")
	}
	check("catchesAgain", catchesAgain(), "again")
	check("defers", defers(20), 20+190)
	for i := range 20 {
		done := make(chan bool)
		go func() { defer close(done); exits(i) }()
		<-done
	}
	x := 7
	for i := range 40 {
		p := &x
		if i%2 == 1 {
			p = nil
		}
		v, err := loads(p)
		check("loads", v == 7 && err == nil, p != nil)
		if err != nil && !strings.Contains(fmt.Sprint(err), "nil pointer dereference") {
			check("fault", err, "nil pointer dereference")
		}
	}
	var group sync.WaitGroup
	for g := range 5 * scale {
		c := make(chan int)
		group.Go(func() { check("works", works(c, 20), 20+190) })
		group.Go(func() {
			for range 20 {
				c <- 1
				recurse(g % 7)
			}
		})
	}
	group.Wait()
	for range 3 {
		group.Go(func() { spins(1) })
	}
	group.Go(func() {
		for range 5 {
			sleeps()
			runtime.GC()
		}
		stop.Store(true)
	})
	group.Wait()
	var s shape = square{3}
	for range 10 {
		check("area", s.area(2), 18.0)
	}
	check("generic", generic("ab", 3), strings.Repeat("ab", 8))
	check("generic", generic(3, 4), 48)
	// Many that end at once, and whose goroutines the runtime does not use again.
	var ends sync.WaitGroup
	begin := make(chan bool)
	for range 30 {
		ends.Add(1)
		go func() {
			defer ends.Done()
			<-begin
			exits(2)
		}()
	}
	close(begin)
	ends.Wait()
	go blocks()
	for inside.Load() == 0 {
		runtime.Gosched()
	}
	var text []string
	for i := range 300 {
		text = append(text, strconv.Itoa(i*7919%300)+fmt.Sprintf(":%05.2f %q %v", float64(i)/7, "x", []int{i}))
	}
	sort.Strings(text)
	fmt.Println("TEXT", len(strings.Join(text, ",")), text[17])
	for name, c := range calls {
		fmt.Println("COUNT", name, c[0].Load(), c[1].Load())
	}
	if failed {
		os.Exit(3)
	}
}

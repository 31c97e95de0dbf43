// Profiled is a program to take profiles of. Its argument says what it does:
//
//	deep N     spins in a function under N others
//	shares MS  spends known shares of its time in three functions, and writes what
//	           runtime/pprof has made of it to the record "pprof"
//	until N    spends known shares of its time in the three, N rounds of them or more, until
//	           a line comes in
//	die        spins and dies
//	calls      spends its time in a system call
//	switches   spends its time in calls behind which another thread runs, or a signal's handler
//	step       compares the stack of a sample at each instruction with that of a trace
//	both MS    spins in two functions at once
//	alloc MS   allocates, sorts, formats: as programs do
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var sink int

//go:noinline
func spin(n int) {
	for i := 0; i < n; i++ {
		sink += i * i
	}
}

//go:noinline
func deep(depth, n int) {
	if depth > 0 {
		deep(depth-1, n)
		sink++ // no tail call
		return
	}
	spin(n)
}

// Three functions of which each takes so many units of time.

//go:noinline
func one(n int) { spin(n); sink++ }

//go:noinline
func three(n int) { spin(3 * n); sink++ }

//go:noinline
func six(n int) { spin(6 * n); sink++ }

func main() {
	runtime.GOMAXPROCS(1)
	sink++
	args := append(os.Args[1:], "", "")
	n, _ := strconv.Atoi(args[1])
	switch args[0] {
	case "deep":
		deep(n, 300_000_000)
	case "shares":
		shares(time.Duration(n) * time.Millisecond)
	case "until":
		until(n)
	case "die":
		deep(5, 50_000_000)
		var p *int
		sink = *p
	case "calls":
		for range 20_000 {
			var b [64 << 10]byte
			f, _ := syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
			syscall.Read(f, b[:])
			syscall.Close(f)
		}
	case "switches":
		switches()
	case "step":
		step()
	case "both":
		both(time.Duration(n) * time.Millisecond)
	case "alloc":
		alloc(time.Duration(n) * time.Millisecond)
	}
	fmt.Println("profiled: done", sink != 0)
}

// both has a function of its own for each goroutine, with a variable of its own.
func both(d time.Duration) {
	runtime.GOMAXPROCS(2)
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for _, f := range []func(int) int{left, right} {
		wg.Go(func() {
			for time.Now().Before(end) {
				f(10000)
			}
		})
	}
	wg.Wait()
	sink++
}

//go:noinline
func left(n int) (sum int) {
	for i := range n {
		sum += i * i
	}
	return sum
}

//go:noinline
func right(n int) (sum int) {
	for i := range n {
		sum ^= i * i
	}
	return sum
}

func shares(d time.Duration) {
	var b bytes.Buffer
	// More than StartCPUProfile takes: it says that it cannot set another rate, and goes on.
	runtime.SetCPUProfileRate(500)
	check(pprof.StartCPUProfile(&b))
	// In no step with any timer.
	random := uint32(1)
	for end := time.Now().Add(d); time.Now().Before(end); {
		random = random*1664525 + 1013904223
		n := 1000 + int(random>>18)
		one(n)
		three(n)
		six(n)
	}
	pprof.StopCPUProfile()
	f, err := os.OpenFile("/dev/record", os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(append([]byte("pprof\n"), b.Bytes()...))
	}
	if err == nil {
		err = f.Close()
	}
	check(err)
}

// until asks for no time: it makes no calls while it spins.
func until(rounds int) {
	var came atomic.Bool
	go func() {
		var line [1]byte
		syscall.Read(0, line[:])
		came.Store(true)
	}()
	random := uint32(1)
	for i := 0; i < rounds || !came.Load(); i++ {
		random = random*1664525 + 1013904223
		n := 1000 + int(random>>18)
		one(n)
		three(n)
		six(n)
		if i == 0 {
			fmt.Println("profiled: spinning")
		}
	}
}

//go:noinline
func writes(f int, b []byte) {
	n, err := syscall.Write(f, b)
	sink += n
	check(err)
}

//go:noinline
func reads(f int, b []byte) {
	for n := 0; n < len(b); {
		k, err := syscall.Read(f, b[n:])
		check(err)
		n += k
	}
}

//go:noinline
func raises() { check(syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)); sink++ }

func check(err error) {
	if err != nil {
		fmt.Println("profiled:", err)
		os.Exit(5)
	}
}

// switches writes to a thread that waits for it, sends itself signals, and starts threads.
func switches() {
	const turns, size = 1000, 48 << 10 // bytes
	var p [2]int
	check(syscall.Pipe(p[:]))
	done := make(chan bool)
	go func() {
		b := make([]byte, size)
		for range turns {
			reads(p[0], b)
		}
		done <- true
	}()
	b := make([]byte, size)
	f, err := syscall.Open("/tmp/more", syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	check(err)
	for range turns {
		writes(p[1], b)
		writes(f, b[:size/8]) // more than a reader takes that calls twice since it waits
	}
	<-done
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for range turns {
		raises()
	}
	for range turns / 10 {
		go func() {
			runtime.LockOSThread() // the thread ends with it
			done <- true
		}()
		<-done
	}
}

func alloc(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		m := map[string][]int{}
		for i := range 200 {
			k := strings.Repeat("k", i%17) + strconv.Itoa(i%50)
			m[k] = append(m[k], (i*7919)%211)
		}
		var all []string
		for k, v := range m {
			sort.Ints(v)
			all = append(all, fmt.Sprintf("%s=%v", k, v))
		}
		sort.Strings(all)
		sink += len(strings.Join(all, ","))
	}
}

// Workers is the soak's program: for a time it does, all at once and in an order that a
// seed decides, what a Go runtime asks of its operating system, and checks every result.
//
//	workers [-seed N] [-duration D]
//
// Whatever is not as it must be is a panic that names the worker and says what it found.
// At the end it prints how often each worker has been round:
//
//	soak: floats 312
//
// and then "soak: ok". It is an ordinary program and runs on Linux too; what it prints
// as known is the same there.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/zeroframe/zeroframe/kernel"
)

// kinds are the kinds of workers, with how many of each run.
var kinds = []struct {
	name string
	n    int
	run  func(w *worker)
}{
	// memory.go
	{"trees", 2, trees}, {"maps", 2, maps}, {"stacks", 2, stacks}, {"pool", 2, pool},
	// mappings.go
	{"mappings", 2, mappings},
	// faults.go
	{"faults", 1, faults}, {"signals", 1, signals},
	// scheduler.go
	{"channels", 2, channels}, {"locks", 2, locks}, {"timers", 2, timers}, {"sleeps", 4, sleeps}, {"threads", 1, threads}, {"churn", 1, churn},
	// numbers.go
	{"floats", 3, floats}, {"vectors", 2, vectors}, {"hashes", 2, hashes},
	// files.go
	{"files", 2, files}, {"pipes", 2, pipes}, {"sockets", 1, sockets},
}

// grace is how long a worker may take to come round once more.
const grace = time.Minute

// worker is one of the goroutines that do the same.
type worker struct {
	name string
	id   int
	rand *rand.Rand // its own
	n    *atomic.Int64
	stop *atomic.Bool

	began bool
}

// goOn reports whether the worker is to go round again. Once it does in any case: a busy
// host may not let everybody begin in a short time.
func (w *worker) goOn() bool {
	first := !w.began
	w.began = true
	return first || !w.stop.Load()
}

// round counts a round, in which all was as it must be. Now and then it rests, so that
// those who wait for their turn with every step come round too.
func (w *worker) round() {
	w.n.Add(1)
	if w.rand.IntN(2) == 0 {
		time.Sleep(time.Duration(w.rand.IntN(40_000)) * time.Microsecond)
	}
}

// wrong ends the program: something is not as it must be.
func (w *worker) wrong(format string, args ...any) {
	panic(fmt.Sprintf("soak: %s %d, round %d: ", w.name, w.id, w.n.Load()) + fmt.Sprintf(format, args...))
}

// must ends the program if there is an error.
func (w *worker) must(what string, err error) {
	if err != nil {
		w.wrong("%s: %v", what, err)
	}
}

func main() {
	seed := flag.Uint64("seed", 1, "what decides the order of things")
	duration := flag.Duration("duration", 10*time.Second, "how long to go on")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "workers: it takes no arguments but flags")
		os.Exit(2)
	}
	fmt.Printf("soak: seed %d, %v, %d CPU, vectors of %d bits\n", *seed, *duration, runtime.NumCPU(), vectorBits())
	learn()
	debug.SetGCPercent(25) // the heap is small, and the collector is to run often

	var (
		wg     sync.WaitGroup
		stop   atomic.Bool
		counts = make([]atomic.Int64, len(kinds))
		ending atomic.Int64 // workers that have not ended
	)
	for i := range kinds {
		k := &kinds[i]
		for id := range k.n {
			w := &worker{name: k.name, id: id, n: &counts[i], stop: &stop}
			w.rand = rand.New(rand.NewPCG(*seed, uint64(i)<<32|uint64(id)))
			ending.Add(1)
			wg.Go(func() {
				k.run(w)
				ending.Add(-1)
			})
		}
	}
	time.Sleep(*duration)
	stop.Store(true)
	late := time.AfterFunc(grace, func() {
		panic(fmt.Sprintf("soak: %d workers have not ended %v after the end", ending.Load(), grace))
	})
	wg.Wait()
	late.Stop()

	for i, k := range kinds {
		n := counts[i].Load()
		fmt.Printf("soak: %s %d\n", k.name, n)
		if n == 0 {
			panic("soak: " + k.name + " has not come round once")
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("soak: collections %d\n", m.NumGC)
	if m.NumGC == 0 {
		panic("soak: the garbage collector has not run")
	}
	fmt.Println("soak: ok")
}

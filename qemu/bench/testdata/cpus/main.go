// Cpus keeps all CPUs busy, by goroutines that compute or that make garbage, and says how long
// that took.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// workers is how many goroutines there are, whatever the number of CPUs.
const workers = 64

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

var sums [workers]int

func compute(worker int) {
	sum := 0
	for i := range 8_000_000 {
		sum += i * worker
	}
	sums[worker] = sum
}

func makeGarbage(int) {
	for range 4 {
		tree(13)
	}
}

func main() {
	work := compute
	if len(os.Args) == 2 && os.Args[1] == "garbage" {
		work = makeGarbage
	}
	var done sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		done.Go(func() { work(worker) })
	}
	done.Wait()
	fmt.Printf("%d CPUs, %d us\n", runtime.NumCPU(), time.Since(began).Microseconds())
}

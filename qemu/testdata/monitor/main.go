// Monitor is what the tests of the kernel's monitor look at: a runtime that is stuck, a
// clock, and input.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"time"
)

// turn prints "stuck", never ends, and cannot be preempted.
func turn()

//go:noinline
func holder() {
	turn()
	fmt.Println("never")
}

//go:noinline
func waiter(mu *sync.Mutex) {
	mu.Lock()
	mu.Unlock()
}

func main() {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "stuck":
		// The only processor is never given up, and the lock neither.
		var mu sync.Mutex
		mu.Lock()
		go waiter(&mu)
		time.Sleep(50 * time.Millisecond)
		holder()
	case "clock":
		start := time.Now()
		fmt.Println("sleeping")
		time.Sleep(1500 * time.Millisecond)
		end := time.Now()
		fmt.Printf("slept %d ms, wall %d ms\n", end.Sub(start).Milliseconds(), end.Round(0).Sub(start.Round(0)).Milliseconds())
	case "echo":
		fmt.Println("ready")
		in := bufio.NewReader(os.Stdin)
		line, _ := in.ReadString('\n')
		fmt.Printf("got %q\n", line)
	}
}

package main

import (
	"fmt"
	"runtime"
	"sync"
)

// leaf has no frame, so its first instruction is no PUSH, and a probe steps over it.
//
//go:noinline
func leaf(n int) int { return n*3 + 1 }

// framed has a frame.
//
//go:noinline
func framed(n int) int { return leaf(n) + 1 }

// calls has each CPU call framed n times, and leaf by that.
func calls(n int) {
	var wg sync.WaitGroup
	start := make(chan bool)
	for cpu := range runtime.NumCPU() {
		wg.Go(func() {
			pin(cpu)
			<-start
			sum := 0
			for i := range n {
				sum += framed(i)
			}
			if want := 3*n*(n-1)/2 + 2*n; sum != want {
				wrong("CPU %d: the sum is %d, want %d", cpu, sum, want)
			}
		})
	}
	close(start)
	wg.Wait()
	fmt.Println("calls", n*runtime.NumCPU())
}

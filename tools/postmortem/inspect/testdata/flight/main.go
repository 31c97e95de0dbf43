// Command flight has a flight recorder, and dies.
package main

import (
	"context"
	"fmt"
	"io"
	"runtime/trace"
	"sync"
)

// generations is how many generations of the trace end before it dies: a number in decimal, set by -ldflags=-X.
var generations = "0"

func main() {
	n := 0
	fmt.Sscan(generations, &n)
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if generations != "none" {
		if err := r.Start(); err != nil {
			panic(err)
		}
	}
	mark := 0
	for range n {
		mark = work(mark)
		if _, err := r.WriteTo(io.Discard); err != nil {
			panic(err)
		}
	}
	work(mark)
	panic("it dies")
}

// work has goroutines do things, with marks of increasing numbers, and returns the next number.
func work(mark int) int {
	for range 50 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go worker(&wg)
		}
		wg.Wait()
		logMark(mark)
		mark++
	}
	return mark
}

//go:noinline
func logMark(n int) { trace.Log(context.Background(), "mark", fmt.Sprint(n)) }

func worker(wg *sync.WaitGroup) {
	defer wg.Done()
	trace.WithRegion(context.Background(), "working", func() {
		c := make(chan int)
		go func() { c <- 1 }()
		<-c
	})
}

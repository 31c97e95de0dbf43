// Command flight has a flight recorder (runtime/trace) and dies, in one of several ways. Before that it logs marks, whose
// numbers go up.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/trace"
	"sync"
)

// last is written at the end: a place to watch.
var last int

func main() {
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := r.Start(); err != nil {
		panic(err)
	}
	for i := range 200 {
		if i == 80 {
			r.WriteTo(io.Discard) // it ends a generation of the trace
		}
		c := make(chan int)
		go func() { c <- i }()
		logMark(<-c)
	}
	switch os.Args[1] {
	case "panic":
		var m map[string]int
		m["a"] = 1
	case "throw":
		var mu sync.Mutex
		mu.Unlock()
	case "write":
		write(1)
	}
}

//go:noinline
func logMark(n int) { trace.Log(context.Background(), "mark", fmt.Sprint(n)) }

//go:noinline
func write(n int) { last = n }

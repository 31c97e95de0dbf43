package main

// Programs that go on: what their goroutines wait for at any moment comes.

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var counter atomic.Int64

func mutexes() {
	var a, b sync.Mutex
	for range 4 {
		go func() {
			for {
				a.Lock()
				b.Lock()
				counter.Add(1)
				b.Unlock()
				a.Unlock()
			}
		}()
	}
	select {}
}

func readers() {
	c := &cache{items: map[string]int{}}
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				if i%10 == 0 {
					c.load("a")
				}
				c.rw.RLock()
				counter.Add(int64(c.items["a"]))
				c.rw.RUnlock()
			}
		}()
	}
	select {}
}

func pipeline() {
	a, b, c := make(chan int, 1), make(chan int), make(chan int, 3)
	go stage(a, b)
	go stage(b, c)
	go func() {
		for n := range c {
			counter.Add(int64(n))
		}
	}()
	for i := 0; ; i++ {
		a <- i
	}
}

func groups() {
	for {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10000 {
					counter.Add(1)
				}
			})
		}
		all.Wait()
	}
}

func conds() {
	var q queue
	q.some.L = &q.mu
	go func() {
		for {
			q.mu.Lock()
			q.items = append(q.items, 1)
			q.mu.Unlock()
			q.some.Signal()
		}
	}()
	for {
		q.mu.Lock()
		for len(q.items) == 0 {
			q.some.Wait()
		}
		q.items = q.items[:0]
		q.mu.Unlock()
	}
}

func selects() {
	a, b := make(chan int), make(chan int)
	for _, c := range []chan int{a, b} {
		go func() {
			for {
				c <- 1
			}
		}()
	}
	for {
		select {
		case n := <-a:
			counter.Add(int64(n))
		case n := <-b:
			counter.Add(int64(n))
		case <-time.After(time.Hour):
		}
	}
}

func tickers() {
	var mu sync.Mutex
	for range 3 {
		go func() {
			for range time.Tick(time.Millisecond) {
				mu.Lock()
				time.Sleep(100 * time.Microsecond)
				mu.Unlock()
			}
		}()
	}
	for {
		time.Sleep(time.Millisecond)
	}
}

func contexts() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		var all sync.WaitGroup
		all.Add(2)
		go watcher(ctx, &all)
		go watcher(ctx, &all)
		all.Wait()
		cancel()
	}
}

func spinlocks() {
	var lock atomic.Bool
	for range 3 {
		go func() {
			for {
				for !lock.CompareAndSwap(false, true) {
				}
				counter.Add(1)
				lock.Store(false)
			}
		}()
	}
	select {}
}

// One that has a lock yields until a flag is set, by one who waits for the lock.
type yielder struct {
	mu    sync.Mutex
	ready atomic.Bool
	n     int
}

func yields() {
	y := new(yielder)
	go y.hold()
	for y.mu.TryLock() {
		y.mu.Unlock()
		runtime.Gosched()
	}
	y.mu.Lock()
	y.ready.Store(true)
	y.mu.Unlock()
}

//go:noinline
func (y *yielder) hold() {
	y.mu.Lock()
	defer y.mu.Unlock()
	for !y.ready.Load() {
		y.n++
		runtime.Gosched()
	}
}

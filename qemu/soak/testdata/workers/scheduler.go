package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Goroutines that wait for each other and for the time.

// channels sends numbered messages from several goroutines through a relay: all must
// come, and those of one sender in order.
func channels(w *worker) {
	type message struct{ from, seq int }
	for w.goOn() {
		senders, each := 1+w.rand.IntN(6), 1+w.rand.IntN(80)
		in, out := make(chan message, w.rand.IntN(5)), make(chan message, w.rand.IntN(5))
		quit := make(chan struct{})
		var wg sync.WaitGroup
		for s := range senders {
			wg.Go(func() {
				for i := range each {
					select {
					case in <- message{s, i}:
					case <-quit:
						w.wrong("a select took the closed channel before it was closed")
					}
				}
			})
		}
		go func() {
			wg.Wait()
			close(in)
		}()
		go func() {
			for m := range in {
				out <- m
			}
			close(out)
		}()
		next := make([]int, senders)
		for m := range out {
			if next[m.from] != m.seq {
				w.wrong("message %d of sender %d came; want %d", m.seq, m.from, next[m.from])
			}
			next[m.from]++
		}
		for s, n := range next {
			if n != each {
				w.wrong("%d messages of sender %d came; want %d", n, s, each)
			}
		}
		close(quit)
		w.round()
	}
}

// locks has goroutines that change two numbers under a lock, by which nobody may ever
// see them differ; and that pass a turn on with a condition.
func locks(w *worker) {
	for w.goOn() {
		const laps = 3
		var (
			mu           sync.Mutex
			rw           sync.RWMutex
			turn         = sync.NewCond(&mu)
			who, turns   int
			a, b         int
			wg           sync.WaitGroup
			total, tries atomic.Int64
			once         sync.Once
			n            = 2 + w.rand.IntN(5)
		)
		for id := range n {
			wg.Go(func() {
				for range laps {
					rw.Lock()
					a++
					runtime.Gosched()
					b++
					rw.Unlock()
					rw.RLock()
					if a != b {
						w.wrong("under a read lock the numbers are %d and %d", a, b)
					}
					rw.RUnlock()
					mu.Lock()
					for who != id {
						turn.Wait()
					}
					who = (who + 1) % n
					turns++
					turn.Broadcast()
					mu.Unlock()
					total.Add(1)
					once.Do(func() { tries.Add(1) })
				}
			})
		}
		wg.Wait()
		if a != laps*n || turns != laps*n || total.Load() != int64(laps*n) || tries.Load() != 1 {
			w.wrong("counts of %d, %d and %d, and %d of once; want %d and 1", a, turns, total.Load(), tries.Load(), laps*n)
		}
		w.round()
	}
}

// tooLate is beyond what a busy machine does to a sleep.
const tooLate = 30 * time.Second

// sleeps sleeps: never too short.
func sleeps(w *worker) {
	for w.goOn() {
		d := time.Duration(w.rand.IntN(20000)) * time.Microsecond
		start := time.Now()
		time.Sleep(d)
		if got := time.Since(start); got < d || got > d+tooLate {
			w.wrong("a sleep of %v took %v", d, got)
		}
		w.round()
	}
}

// timers uses the other ways to wait for a time.
func timers(w *worker) {
	for w.goOn() {
		d := time.Duration(1+w.rand.IntN(15000)) * time.Microsecond
		start := time.Now()
		early := func(what string, d time.Duration) {
			if got := time.Since(start); got < d || got > d+tooLate {
				w.wrong("%s of %v took %v", what, d, got)
			}
		}
		switch w.rand.IntN(5) {
		case 0:
			never := make(chan int)
			select {
			case <-never:
				w.wrong("something came from a channel that nobody sends to")
			case <-time.After(d):
			}
			early("time.After", d)
		case 1:
			t := time.NewTicker(d)
			for range 3 {
				<-t.C
			}
			t.Stop()
			early("three ticks", 3*d)
		case 2:
			ctx, cancel := context.WithTimeout(context.Background(), d)
			<-ctx.Done()
			early("a context", d)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				w.wrong("a context ended with %v", ctx.Err())
			}
			cancel()
		case 3:
			done := make(chan time.Time, 1)
			time.AfterFunc(d, func() { done <- time.Now() })
			<-done
			early("time.AfterFunc", d)
		default:
			// A timer that was stopped in time does not fire, one that was not has.
			var fired atomic.Bool
			t := time.AfterFunc(d, func() { fired.Store(true) })
			time.Sleep(time.Duration(w.rand.IntN(15000)) * time.Microsecond)
			if t.Stop() {
				time.Sleep(2 * d)
				if fired.Load() {
					w.wrong("a timer of %v fired after it had been stopped", d)
				}
			} else {
				early("a timer that had fired", d)
			}
		}
		w.round()
	}
}

// threads locks goroutines to threads: each keeps its own.
func threads(w *worker) {
	for w.goOn() {
		var wg, all sync.WaitGroup
		var mu sync.Mutex
		owner := map[int]int{}
		const n = 4
		all.Add(n)
		for id := range n {
			wg.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				tid := syscall.Gettid()
				mu.Lock()
				if other, ok := owner[tid]; ok {
					w.wrong("goroutines %d and %d are locked to the same thread, %d", other, id, tid)
				}
				owner[tid] = id
				mu.Unlock()
				all.Done()
				all.Wait() // nobody gives a thread back before
				for range 2 {
					runtime.Gosched()
					if now := syscall.Gettid(); now != tid {
						w.wrong("a goroutine that is locked to thread %d runs on %d", tid, now)
					}
				}
				time.Sleep(time.Millisecond)
				if now := syscall.Gettid(); now != tid {
					w.wrong("a goroutine that is locked to thread %d woke on %d", tid, now)
				}
			})
		}
		wg.Wait()
		w.round()
	}
}

// churn starts many goroutines that live for a moment.
func churn(w *worker) {
	for w.goOn() {
		n := 1 + w.rand.IntN(400)
		var sum atomic.Int64
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if i%40 == 0 {
					runtime.Gosched()
				}
				sum.Add(int64(i))
			})
		}
		wg.Wait()
		if want := int64(n) * int64(n-1) / 2; sum.Load() != want {
			w.wrong("%d goroutines added up to %d; want %d", n, sum.Load(), want)
		}
		w.round()
	}
}

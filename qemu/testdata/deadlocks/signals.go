package main

// A signal that does not come: groups, conditions, semaphores, contexts.

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A wake-up that comes before the one who waits for it.
type mailbox struct {
	mu   sync.Mutex
	full *sync.Cond
}

func lostWakeUp() {
	var b mailbox
	b.full = sync.NewCond(&b.mu)
	done := make(chan bool)
	go b.post(done)
	<-done
	b.mu.Lock()
	b.full.Wait()
	b.mu.Unlock()
}

func (b *mailbox) post(done chan bool) {
	b.mu.Lock()
	b.full.Signal()
	b.mu.Unlock()
	close(done)
}

// A group of three of which one does not come to Done.
var group sync.WaitGroup

func waitGroup() {
	group.Add(3)
	orders := make(chan int)
	go worker(orders)
	go worker(orders)
	go forgetful(orders)
	for i := range 3 {
		orders <- i
	}
	group.Wait()
}

//go:noinline
func worker(orders chan int) {
	defer group.Done()
	<-orders
}

//go:noinline
func forgetful(orders chan int) {
	if n := <-orders; n < 0 {
		group.Done()
	}
}

// A condition that nobody signals.
type queue struct {
	mu    sync.Mutex
	some  sync.Cond
	items []int
}

var theQueue queue

func condition() {
	theQueue.some.L = &theQueue.mu
	go theQueue.put(1)
	fmt.Println(theQueue.take())
}

//go:noinline
func (q *queue) take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) < 2 {
		q.some.Wait()
	}
	return q.items[0]
}

//go:noinline
func (q *queue) put(n int) {
	q.mu.Lock()
	q.items = append(q.items, n) // and no Signal
	q.mu.Unlock()
}

// A semaphore whose places are not given back when there is an error.
var places = make(chan struct{}, 2)

func semaphore() {
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { limited(i) })
	}
	all.Wait()
}

//go:noinline
func limited(i int) {
	places <- struct{}{}
	if err := work(i); err != nil {
		return // without giving the place back
	}
	<-places
}

//go:noinline
func work(i int) error { return fmt.Errorf("work %d", i) }

// A context that is never cancelled.
func contextNotCancelled() {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Add(1)
	go watcher(ctx, &all)
	all.Wait()
	cancel()
}

//go:noinline
func watcher(ctx context.Context, all *sync.WaitGroup) {
	defer all.Done()
	<-ctx.Done()
}

// A finalizer that waits for what the one who waits for it has.
type resource struct{ name [64]byte }

var (
	registry  sync.Mutex
	finalized = make(chan bool)
)

func finalizer() {
	r := new(resource)
	r.name[0] = 'r'
	runtime.SetFinalizer(r, (*resource).release)
	registry.Lock()
	r = nil
	runtime.GC()
	<-finalized
	registry.Unlock()
}

func (r *resource) release() {
	registry.Lock()
	registry.Unlock()
	finalized <- true
}

// One that spins until a flag is set, which nobody sets.
var flag atomic.Bool

func spin() {
	done := make(chan bool)
	go spinner(done)
	stopped()
	<-done
	flag.Store(true)
}

//go:noinline
func spinner(done chan bool) {
	for !flag.Load() {
	}
	close(done)
}

// A timer that has been stopped.
func timerStopped() {
	t := time.NewTimer(time.Hour)
	t.Stop()
	<-t.C
}

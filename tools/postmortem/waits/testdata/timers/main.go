// Command timers waits for timers in many ways. Of a program that hangs, those who do are not to be
// named, nor who runs finalizers and cleanups, but one who has a lock while it waits.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

var (
	none  = make(chan int) // nobody sends
	ready sync.WaitGroup
	group sync.WaitGroup
	mu    sync.Mutex
)

type resource struct{ b [64]byte }

func tick(ch chan int) {
	ready.Done()
	for range time.NewTicker(time.Hour).C {
		ch <- 1
	}
}

func timer() {
	ready.Done()
	<-time.NewTimer(time.Hour).C
}

func either() {
	ready.Done()
	select {
	case <-time.After(time.Hour):
	case <-none:
	}
}

func served(ch chan int) {
	ready.Done()
	<-ch
}

func holder() {
	mu.Lock()
	defer mu.Unlock()
	ready.Done()
	<-time.After(time.Hour)
}

func locker() {
	ready.Done()
	mu.Lock()
	mu.Unlock()
}

type key struct{}

type bell struct{ c chan int }

func (b *bell) ring() { b.c <- 1 }

func late(ch <-chan int) {
	ready.Done()
	<-ch
}

func deadline(ctx context.Context) {
	ready.Done()
	<-ctx.Done()
}

// functions waits for what the functions of timers do, those of contexts among them.
func functions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	child, cancelChild := context.WithCancel(context.WithValue(ctx, key{}, 1))
	_, _ = cancel, cancelChild
	go deadline(ctx)
	go deadline(child)
	sent, closed, rung := make(chan int), make(chan int), &bell{make(chan int)}
	time.AfterFunc(time.Hour, func() { sent <- 1 })
	context.AfterFunc(child, func() { close(closed) })
	time.AfterFunc(time.Hour, rung.ring)
	go late(sent)
	go late(closed)
	go late(rung.c)
}

//go:noinline
func leave() {
	runtime.SetFinalizer(&resource{}, func(*resource) { ready.Done(); <-none })
	runtime.AddCleanup(&resource{}, func(int) { ready.Done(); <-none }, 1)
}

func main() {
	ready.Add(13)
	leave()
	runtime.GC()
	runtime.GC()
	ch := make(chan int)
	go tick(ch)
	go served(ch)
	go timer()
	go either()
	functions()
	go holder()
	for mu.TryLock() {
		mu.Unlock()
		runtime.Gosched()
	}
	go locker()
	ready.Wait()
	fmt.Println("begin timers")
	<-none
}

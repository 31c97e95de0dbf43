package main

import (
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

// waiting has goroutines wait, each for something that another has made so: the line is marked with the goroutine's
// function and with what was done.
func waiting() {
	var mu sync.Mutex
	for range 3 {
		use(&mu)
	}
	done := make(chan bool)
	go func() { takeAndForget(&mu); done <- true }()
	<-done
	go waitLock(&mu)

	var table sync.RWMutex
	table.RLock()
	table.RUnlock()
	go func() { read(&table); done <- true }()
	<-done
	go waitWrite(&table)

	var all sync.WaitGroup
	start(&all)
	finishSome(&all)
	go waitGroup(&all)

	go waitChannel(build())
	go waitTimer(setAlarm())
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	setDeadline(r)
	go waitRead(r)
	culprit.Work()
	runtime.KeepAlive(w)
	panic("they wait")
}

//go:noinline
func use(mu *sync.Mutex) { mu.Lock(); sink++; mu.Unlock() }

//go:noinline
func takeAndForget(mu *sync.Mutex) {
	mu.Lock() // waitLock: taken by
	if sink > 0 {
		return
	}
	mu.Unlock()
}

//go:noinline
func waitLock(mu *sync.Mutex) { mu.Lock(); sink++; mu.Unlock() }

//go:noinline
func read(table *sync.RWMutex) {
	table.RLock() // waitWrite: taken for reading by
	sink++
}

//go:noinline
func waitWrite(table *sync.RWMutex) {
	table.Lock() // waitWrite: taken for writing by
	sink++
	table.Unlock()
}

//go:noinline
func start(all *sync.WaitGroup) {
	all.Add(3) // waitGroup: added to by
}

//go:noinline
func finishSome(all *sync.WaitGroup) {
	for range 2 {
		all.Done() // waitGroup: done by
	}
}

//go:noinline
func waitGroup(all *sync.WaitGroup) { all.Wait(); sink++ }

//go:noinline
func build() chan int {
	c := make(chan int, 2) // waitChannel: made by
	c <- 1                 // waitChannel: sent to last by
	return c
}

//go:noinline
func waitChannel(c chan int) {
	for {
		sink += <-c // waitChannel: received from last by
	}
}

//go:noinline
func setAlarm() *time.Timer {
	t := time.NewTimer(time.Minute) // waitTimer: made by
	t.Reset(time.Hour)              // waitTimer: the deadline was set by
	return t
}

//go:noinline
func waitTimer(t *time.Timer) { <-t.C; sink++ }

//go:noinline
func setDeadline(f *os.File) {
	f.SetReadDeadline(time.Now().Add(time.Hour)) // waitRead: the deadline was set by
}

//go:noinline
func waitRead(f *os.File) {
	var b [1]byte
	f.Read(b[:])
	sink++
}

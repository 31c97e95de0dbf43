package golab

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Programs that do not die by themselves.

//go:noinline
func spinA() { spinB(); sink++ }

//go:noinline
func spinB() { spinC(); sink++ }

// spinC announces that it spins, so that whoever sends the NMI knows.
//
//go:noinline
func spinC() {
	say("spinning")
	for five != 0 {
		sink++
	}
}

// yieldA runs itself twice.
//
//go:noinline
func yieldA() {
	go yieldB()
	yieldB()
}

//go:noinline
func yieldB() { yieldC(); sink++ }

// yieldC yields for ever: most of the time it is entering or leaving the scheduler.
//
//go:noinline
func yieldC() {
	say("yielding")
	for five != 0 {
		runtime.Gosched()
	}
}

// What hangA's goroutines wait for. Crash lab only.
var (
	held    sync.Mutex
	silent  = [3]chan int{}
	nobody  = sync.NewCond(new(sync.Mutex))
	endless sync.WaitGroup
)

// hangA makes goroutines wait, each for something else.
//
//go:noinline
func hangA() {
	time.AfterFunc(24*time.Hour, func() {})
	for i := range silent {
		silent[i] = make(chan int)
	}
	held.Lock()
	endless.Add(1)
	go hangLock()
	go hangReceive()
	go hangSelect()
	go hangCond()
	go hangSleep()
	time.Sleep(50 * time.Millisecond) // they wait now
	say("hanging")
	hangGroup()
}

//go:noinline
func hangLock() { held.Lock(); sink++ }

//go:noinline
func hangReceive() { <-silent[0]; sink++ }

//go:noinline
func hangSelect() {
	select {
	case <-silent[1]:
	case silent[2] <- five:
	}
	sink++
}

//go:noinline
func hangCond() { nobody.L.Lock(); nobody.Wait(); sink++ }

//go:noinline
func hangSleep() { time.Sleep(24 * time.Hour); sink++ }

//go:noinline
func hangGroup() { endless.Wait(); sink++ }

func sleepA() {
	say("sleeping")
	t := time.Now()
	time.Sleep(time.Second)
	say("slept " + strconv.FormatInt(time.Since(t).Milliseconds(), 10) + " ms")
}

//go:noinline
func exitA() { os.Exit(five + 2) }

func recoverA() {
	const times = 20_000
	n := 0
	for i := range times {
		if recoverB(i) {
			n++
		}
	}
	say("recovered " + strconv.Itoa(n) + " of " + strconv.Itoa(times) + " faults")
	if n != times {
		os.Exit(1)
	}
}

//go:noinline
func recoverB(i int) (ok bool) {
	defer func() { ok = recover() != nil }()
	recoverC(i)
	return false
}

// recoverC reads, writes and calls by way of nil.
//
//go:noinline
func recoverC(i int) {
	switch i % 3 {
	case 0:
		sink += nilPointer[i&3]
	case 1:
		nilPointer[i&3] = sink
	case 2:
		nilFunction()
	}
}

var nilFunction func() // crash lab only

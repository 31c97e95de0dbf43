// Costs measures what a program asks of its kernel and of the Go runtime, on whatever
// it runs on: the kernel or Linux. A line of what it prints is "measure", the name,
// how many times the thing was done, the ticks of the time stamp counter that this
// took, and the nanoseconds. There are several such lines for each name.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
)

// samples is how often each thing is measured.
const samples = 15

func main() {
	// Before all else: when main.main was reached, since reset and since the clock's
	// start.
	ticks, ns := arch.ReadCounter(), monotonic()
	fmt.Println("measure main", 1, ticks, ns)

	measure("loop", 20, loop)
	measure("cost.syscall", 1000, null)
	measure("noted", 1000, noted)
	measure("cost.clock", 1000, clock)
	measure("cost.gosched", 2000, yield)
	measure("cost.channel", 1000, channel)
	measure("cost.thread", 200, thread)
	measure("cost.touch", 512, touch)
	for range 200 {
		measureOnce("timer", 1, func(int) { time.Sleep(time.Millisecond) })
	}
}

func measure(name string, n int, run func(n int)) {
	run(n) // what is done once only is done now
	for range samples {
		measureOnce(name, n, run)
	}
}

func measureOnce(name string, n int, run func(n int)) {
	ns, ticks := time.Now(), arch.ReadCounter()
	run(n)
	ticks = arch.ReadCounter() - ticks
	fmt.Println("measure", name, n, ticks, time.Since(ns).Nanoseconds())
}

// monotonic is the time since the clock's start in nanoseconds.
func monotonic() int64 {
	const clockMonotonic = 1
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// loop is ordinary Go code that asks nothing of anybody: a sort, with calls through an
// interface. It is the yardstick of how fast the machine is.
func loop(n int) {
	var data [256]int
	for range n {
		x := uint32(1)
		for i := range data {
			x = x*1664525 + 1013904223
			data[i] = int(x >> 8)
		}
		sort.Sort(sort.IntSlice(data[:]))
	}
}

// null is a system call that does nothing.
func null(n int) {
	for range n {
		syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
	}
}

// noted is null for a call that is an event for the kernel, answered by the same function.
func noted(n int) {
	for range n {
		syscall.RawSyscall(syscall.SYS_GETPGRP, 0, 0, 0)
	}
}

// clock reads the clock: a system call on the kernel, none on Linux, which has it in
// a page of the program's (vDSO).
func clock(n int) {
	for range n {
		time.Now()
	}
}

// yield lets two goroutines give way to each other, n times together.
func yield(n int) {
	done := make(chan bool)
	for range 2 {
		go func() {
			for range n / 2 {
				runtime.Gosched()
			}
			done <- true
		}()
	}
	<-done
	<-done
}

// channel sends n values to another goroutine and back.
func channel(n int) { pingPong(n, func() {}) }

// thread is channel between two goroutines that keep a thread each, so that the kernel
// has to switch twice for each round.
func thread(n int) {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		pingPong(n, runtime.LockOSThread)
		done <- true
	}()
	<-done
}

func pingPong(n int, begin func()) {
	ping, pong := make(chan int), make(chan int)
	go func() {
		begin()
		for v := range ping {
			pong <- v
		}
		close(pong)
	}()
	for i := range n {
		ping <- i
		<-pong
	}
	close(ping)
	<-pong
}

// touch writes to n pages that nobody has touched, and gives them back.
func touch(n int) {
	const page = 4096
	b, err := syscall.Mmap(-1, 0, n*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	// Linux would give large pages where it can; it is single ones that are compared.
	const noHugePage = 15
	syscall.Madvise(b, noHugePage)
	for i := 0; i < len(b); i += page {
		b[i] = 1
	}
	if err := syscall.Munmap(b); err != nil {
		panic(err)
	}
}

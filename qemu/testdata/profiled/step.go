package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"

	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/observe"
)

// Each instruction of what programs do that is hard to walk: prologues and epilogues,
// functions without frames, growing stacks, tail calls, other stacks, panics, goroutines.

var (
	compared, differ uint64
	first            [4]struct{ pc, sampled, walked uintptr }
	lastPC           uintptr
	every            uint64 = 1
)

// compare runs in kernel context.
func compare(pc uintptr) bool {
	if pc == lastPC {
		return false // REP: each turn is a trap
	}
	lastPC = pc
	if compared++; compared > 3000 && compared%every != 0 {
		return false
	}
	if sampled, walked := observe.CompareStepped(); sampled != walked || sampled == 0 {
		if differ < uint64(len(first)) {
			first[differ].pc, first[differ].sampled, first[differ].walked = pc, uintptr(sampled), uintptr(walked)
		}
		differ++
	}
	return false
}

//go:noinline
func leaf(a, b int) int { return a*b + a }

//go:noinline
func grow(n int) int {
	var room [512]byte
	room[n%512] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n%512])
}

type shape interface{ area() int }
type square struct{ side int }
type named struct{ *square }

//go:noinline
func (s *square) area() int { return leaf(s.side, s.side) }

//go:noinline
func total(s []shape) (n int) {
	for _, x := range s {
		n += x.area() // of named: a wrapper
	}
	return n
}

//go:noinline
func recovers() (n int) {
	defer func() {
		recover()
		n = leaf(n, 3)
	}()
	var p *square
	return p.side
}

func step() {
	work := func() {
		sink += leaf(2, 3) + grow(3) + total([]shape{&square{2}, named{&square{3}}})
		sink += recovers()
		c := make(chan int)
		go func() { c <- grow(20) }()
		sink += <-c
		s := []string{"b", "a", "c"}
		sort.Strings(s)
		sink += len(strings.Join(s, ",")) + len(fmt.Sprintf("%v %d", s, sink))
		runtime.Gosched()
		f, err := os.Open("/dev/null")
		if err == nil {
			f.Close()
		}
		sink += len(make([]byte, 100_000))
		runtime.GC()
	}
	work() // what is done once is not what programs do
	every = 13
	fault.StepTraces(compare)
	for range 20 {
		// How much of it is stepped differs: the flag is a thread's, and a goroutine may go
		// on with another.
		if work(); compared >= 200_000 {
			break
		}
	}
	fault.StepTraces(nil)
	fmt.Println("profiled: compared", compared, "differ", differ)
	for _, d := range first[:min(differ, 4)] {
		f := runtime.FuncForPC(d.pc)
		fmt.Printf("profiled: at %#x %s+%#x: sampled %d, walked %d\n", d.pc, f.Name(), d.pc-f.Entry(), d.sampled, d.walked)
	}
}

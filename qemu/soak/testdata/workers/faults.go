package main

import (
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Faults that become panics, and signals.

type record struct {
	_    [64]byte
	a, b uint64
	next *record
}

// sites are ways to fault or to panic, each with a word of the message.
var sites = []struct {
	word string
	do   func(p *record, n int, s []int, m map[int]int, x any) int
}{
	{"nil pointer", func(p *record, n int, s []int, m map[int]int, x any) int { return int(p.a) }},
	{"nil pointer", func(p *record, n int, s []int, m map[int]int, x any) int { p.b = uint64(n); return 0 }},
	{"nil pointer", func(p *record, n int, s []int, m map[int]int, x any) int { return int(p.next.next.a) }},
	{"nil pointer", func(p *record, n int, s []int, m map[int]int, x any) int { var f func() int; return f() }},
	{"divide by zero", func(p *record, n int, s []int, m map[int]int, x any) int { return 7 / n }},
	{"index out of range [3] with length 2", func(p *record, n int, s []int, m map[int]int, x any) int { return s[n+3] }},
	{"slice bounds out of range", func(p *record, n int, s []int, m map[int]int, x any) int { return len(s[n+5:]) }},
	{"nil map", func(p *record, n int, s []int, m map[int]int, x any) int { m[n] = 1; return 0 }},
	{"interface conversion", func(p *record, n int, s []int, m map[int]int, x any) int { return x.(int) }},
}

// faults recovers from faults, and looks at what was in variables when they came.
func faults(w *worker) {
	for w.goOn() {
		i := w.rand.IntN(len(sites))
		a, b, f := w.rand.Uint64(), w.rand.Uint64(), w.rand.Float64()
		sum := a ^ b
		told := ""
		depth := w.rand.IntN(6)
		var down func(n int)
		down = func(n int) {
			if n > 0 {
				down(n - 1)
				return
			}
			got := sites[i].do(nil, 0, []int{1, 2}, nil, "text")
			w.wrong("a fault of kind %d did not happen; the result is %d", i, got)
		}
		func() {
			defer func() {
				err, ok := recover().(runtime.Error)
				if !ok {
					w.wrong("a fault of kind %d was recovered without a runtime error", i)
				}
				told = err.Error()
			}()
			down(depth)
		}()
		if !strings.Contains(told, sites[i].word) {
			w.wrong("a fault of kind %d says %q; want %q in it", i, told, sites[i].word)
		}
		if a^b != sum || f*2 != f+f {
			w.wrong("variables have changed in a fault of kind %d", i)
		}
		w.round()
	}
}

// signals sends itself signals. Each must come, and no other.
func signals(w *worker) {
	all := []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGWINCH}
	c := make(chan os.Signal, 8)
	signal.Notify(c, all...)
	defer signal.Stop(c)
	for w.goOn() {
		want := all[w.rand.IntN(len(all))]
		w.must("kill", syscall.Kill(syscall.Getpid(), want.(syscall.Signal)))
		select {
		case got := <-c:
			if got != want {
				w.wrong("the signal %v came; want %v", got, want)
			}
		case <-time.After(grace / 2):
			w.wrong("the signal %v has not come in %v", want, grace/2)
		}
		if len(c) != 0 {
			w.wrong("the signal %v came twice", want)
		}
		w.round()
	}
}

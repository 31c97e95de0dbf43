// A program that dies in the way its argument names, with inlined calls, generic
// functions and goroutines on the way.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

type list[T any] struct{ items []T }

//go:noinline
func (l *list[T]) at(i int) T { return pick(l.items, i) }

func pick[T any](s []T, i int) T { return s[i] }

type point struct{ x, y int }

//go:noinline
func read(p *point) int { return inner(p) + 1 }

func inner(p *point) int { return innermost(p) * 3 }

func innermost(p *point) int { return p.y }

//go:noinline
func handler(p *point) {
	defer func() {
		if recover() != nil {
			os.Stderr.Write(debug.Stack())
		}
	}()
	fmt.Println(read(p))
}

//go:noinline
func wait(c chan int) { <-c }

//go:noinline
func index(i int) int {
	return (&list[int]{[]int{1}}).at(i) + len((&list[string]{[]string{"x"}}).at(0))
}

func main() {
	switch os.Args[1] {
	case "nil":
		fmt.Println(read(nil))
	case "index":
		fmt.Println(index(len(os.Args) + 5))
	case "recovered":
		handler(nil)
	case "goroutines":
		c := make(chan int)
		for range 3 {
			go wait(c)
		}
		time.Sleep(10 * time.Millisecond)
		debug.SetTraceback("all")
		panic("all of them")
	}
}

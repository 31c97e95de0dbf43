// Debugged is what Delve follows: its lines and values are known to the tests.
package main

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

type node struct {
	v    int
	next *node
}

//go:noinline
func sum(n *node) int {
	total := 0
	for ; n != nil; n = n.next {
		total += n.v
	}
	return total
}

func worker(i int, out chan<- int, wg *sync.WaitGroup) {
	defer wg.Done()
	square := i * i
	out <- square
}

func main() {
	var list *node
	for i := range 4 {
		list = &node{i, list}
	}
	fmt.Println("the sum is", sum(list))
	out := make(chan int, 3)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Add(1)
		go worker(i, out, &wg)
	}
	wg.Wait()
	if len(os.Args) == 2 {
		list.next.next.next.next.v++ // there is no fifth
	}
	for len(os.Args) == 3 {
		list.v++
	}
	if len(os.Args) == 4 {
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}
	os.Exit((<-out + <-out + <-out) * len(os.Args))
}

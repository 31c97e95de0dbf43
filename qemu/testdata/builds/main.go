// Command builds does some of what a program does, and dies if it is told to. It is built with
// each flag that changes what the compiler makes of a program.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
)

type node struct {
	next  *node
	value int
}

// second is inlined, unless the compiler is told not to.
func second(n *node) int { return n.next.value }

//go:noinline
func add(n *node, more string) int {
	total := len(more)
	total += second(n)
	return total
}

// work has eight goroutines write and read files, and numbers in vector registers.
func work(dir string) (sum float64) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(i))
			for round := range 20 {
				text := make([]byte, 3000+round)
				text[round] = byte(i)
				if err := os.WriteFile(path, text, 0o600); err != nil {
					panic(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != string(text) {
					panic(fmt.Sprint("what was read is not what was written: ", err))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum += math.Sqrt(float64(i * i))
		})
	}
	all.Wait()
	return sum
}

func main() {
	fmt.Println("sum", work(os.TempDir()))
	if len(os.Args) > 1 {
		fmt.Println(add(&node{}, os.Args[1]))
	}
}

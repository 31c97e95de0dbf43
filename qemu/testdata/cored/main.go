// Command cored has goroutines and values of each kind, for a debugger to look at, and dies as it is told.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

type node struct {
	name string
	next *node
}

var (
	ages         = map[string]int{"ann": 41, "bob": 7}
	list         = []int{3, 1, 4, 1, 5}
	figure shape = square{9}
	jobs         = make(chan int, 4)
	head         = &node{"first", &node{"second", nil}}
	never        = make(chan int)
)

//go:noinline
func waits(number int, wg *sync.WaitGroup) {
	local := number * 10
	wg.Done()
	<-never
	fmt.Println(local, number, figure.area(), head.next.name)
}

//go:noinline
func dies(how string, depth int) {
	values := []string{"x", "y", how}
	if depth > 0 {
		dies(how, depth-1)
		return
	}
	switch how {
	case "panic":
		panic("as told: " + values[2])
	case "nil":
		var n *node
		done := make(chan int)
		go func() { fmt.Println(n.next); done <- 1 }()
		<-done
	case "deadlock":
		<-never
	case "spin":
		fmt.Println("cored spins")
		for {
			ages["cat"]++
		}
	case "sleep":
		fmt.Println("cored sleeps")
		time.Sleep(time.Hour)
	}
}

func main() {
	jobs <- 17
	jobs <- 18
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Add(1)
		go waits(i+1, &wg)
	}
	wg.Wait()
	for stacks := make([]byte, 64<<10); strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "[chan receive]") < 3; {
		runtime.Gosched() // one of them is on its way to its channel
	}
	list = append(list, len(os.Args))
	dies(os.Args[1], 2)
}

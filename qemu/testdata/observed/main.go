// Observed is what is looked at in a replay: how often its functions are called, with which arguments and by
// whom, is known.
package main

import (
	"fmt"
	"os"
	"sync"
)

type conn struct {
	id   int
	name string
	sent []byte
}

var closed int

// handle is called by each of the workers, three times.
//
//go:noinline
func handle(c *conn, n int, name string, part float64) int {
	c.sent = append(c.sent, name...)
	return len(c.sent) + n + int(part)
}

//go:noinline
func (c *conn) close() {
	closed += c.id
}

// grow makes its stack larger on the way: no call of it may be seen twice.
//
//go:noinline
func grow(depth int, pad [64]int) int {
	if depth == 0 {
		return pad[63]
	}
	pad[depth&63]++
	return grow(depth-1, pad) + pad[depth&63]
}

var sink uint64

// heavy runs three times as many instructions as light.
//
//go:noinline
func heavy(n int) { burn(3 * n) }

//go:noinline
func light(n int) { burn(n) }

//go:noinline
func burn(n int) {
	for i := range n {
		sink = sink*6364136223846793005 + uint64(i)
	}
}

//go:noinline
func waitForever(c chan int) { <-c }

//go:noinline
func die(c *conn) {
	var nobody *conn
	fmt.Println(c.name, nobody.name)
}

func main() {
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			c := &conn{id: 10 + i, name: fmt.Sprint("worker ", i)}
			for j := range 3 {
				handle(c, j, fmt.Sprintf("part %d", j), float64(j)+0.5)
			}
			c.close()
		})
	}
	wg.Wait()
	grow(100, [64]int{63: 7})
	for range 20 {
		heavy(20000)
		light(20000)
	}
	go waitForever(make(chan int))
	fmt.Println("closed", closed)
	if len(os.Args) > 1 && os.Args[1] == "die" {
		die(&conn{id: 99, name: "the last"})
	}
}

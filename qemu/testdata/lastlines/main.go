// Lastlines writes a random number of lines in pieces of random sizes, and dies at once.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
)

func main() {
	seed, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var text []byte
	for i := range r.IntN(3000) {
		text = fmt.Appendf(text, "line %d\n", i)
	}
	text = append(text, "the last one without its end"...)
	most := 1 << r.IntN(16)
	for len(text) > 0 {
		n := min(len(text), 1+r.IntN(most))
		os.Stdout.Write(text[:n])
		text = text[n:]
		if r.IntN(200) == 0 {
			go func() {}()
		}
	}
	switch os.Args[2] {
	case "exit":
		os.Exit(5)
	case "return":
	case "panic":
		panic("this is it")
	case "nil":
		*(*int)(nil) = 1
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "deadlock":
		select {}
	case "overflow":
		overflow(0)
	case "spin":
		for {
		}
	}
}

//go:noinline
func overflow(n int) int { return overflow(n+1) + 1 }

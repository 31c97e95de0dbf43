// Watched writes variables from several functions, by several goroutines, by the kernel and by repeated
// instructions, for the tests of the option watch=.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
)

var (
	count  int64
	text   [16]byte
	fill   [64]byte
	loaded [3 << 10]int32 // 1<<10 is watched: no other variable is on its page
)

//go:noinline
func set(v int64) {
	count = v
}

//go:noinline
func add(v int64) int64 {
	count += v
	return count * 2
}

//go:noinline
func through(p *int64, v int64) { *p = v }

//go:noinline
func clear(b []byte) {
	for i := range b {
		b[i] = 0
	}
}

//go:noinline
func load() int32 { return loaded[1<<10] + 1 }

func main() {
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	switch what {
	case "writes":
		set(1)
		println("set", add(4))
		through(&count, 9)
	case "goroutines":
		runtime.GOMAXPROCS(3)
		var mu sync.Mutex
		var all sync.WaitGroup
		for g := range 3 {
			all.Go(func() {
				for range 5 {
					mu.Lock()
					if g == 1 {
						add(1)
					} else {
						through(&count, count+1)
					}
					mu.Unlock()
					runtime.Gosched()
				}
			})
		}
		all.Wait()
		println("count", count)
	case "kernel":
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		w.WriteString("0123456789abcdef")
		n, err := r.Read(text[:])
		fmt.Println(n, err)
	case "repeated":
		for i := range fill {
			fill[i] = byte(i)
		}
		clear(fill[:])
	case "read":
		fmt.Println("loaded", load())
		loaded[1<<10] = 7
	}
	fmt.Println("end")
}

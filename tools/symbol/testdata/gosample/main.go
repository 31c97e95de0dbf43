// Gosample says of addresses of its own text what runtime.CallersFrames makes of
// them: the truth that package symbol is held against. It is run with the first
// address, the end, the step, and the address of main.main, which tells where the
// program was loaded; all are those in the ELF file. For each address it prints a
// line with the address and then one line a frame.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strconv"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return mul(s.side, s.side) }

// embedding makes wrappers: outer.area, (*outer).area, (*square).area.
type outer struct{ square }

func mul(a, b int) int {
	if a == 0 {
		return zero(b)
	}
	return a * b
}

func zero(b int) int { return b - b }

type pair[K comparable, V any] struct {
	key K
	val V
}

func (p *pair[K, V]) get() V { return p.val }

func largest[T int | string](list []T, less func(a, b T) bool) (best T) {
	for _, v := range list {
		if less(best, v) {
			best = v
		}
	}
	return best
}

//go:noinline
func indexed(s []int, i int) int { return s[i] + mul(i, i) }

//go:noinline
func deep(n int) int {
	defer func() { recover() }()
	var room [64]int
	for i := range room {
		room[i] = mul(n, i)
	}
	if n > 0 {
		return deep(n-1) + indexed(room[:], n)
	}
	return room[3]
}

func main() {
	shapes := []shape{square{2}, outer{square{3}}, &outer{square{4}}, &square{5}}
	sum := deep(3)
	for _, s := range shapes {
		sum += s.area()
	}
	sum += largest([]int{1, 2}, func(a, b int) bool { return a < b })
	sum += len(largest([]string{"a"}, func(a, b string) bool { return a < b }))
	sum += (&pair[string, int]{"k", sum}).get()
	sort.Slice(shapes, func(i, j int) bool { return shapes[i].area() < shapes[j].area() })

	if len(os.Args) != 5 {
		fmt.Println(sum)
		return
	}
	var arg [4]uint64
	for i := range arg {
		var err error
		if arg[i], err = strconv.ParseUint(os.Args[i+1], 0, 64); err != nil {
			panic(err)
		}
	}
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	slide := uint64(reflect.ValueOf(main).Pointer()) - arg[3]
	for pc := arg[0]; pc < arg[1]; pc += arg[2] {
		fmt.Fprintf(w, "@%x\n", pc)
		// The 0 after it makes CallersFrames unfold the inlined calls.
		frames := runtime.CallersFrames([]uintptr{uintptr(pc + slide), 0})
		for {
			f, more := frames.Next()
			if f.Entry == 0 {
				break
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%t\t%x\n", f.Function, f.File, f.Line, f.Func == nil, uint64(f.Entry)-slide)
			if !more {
				break
			}
		}
	}
}

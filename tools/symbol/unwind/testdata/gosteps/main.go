// Gosteps is stepped through by a debugger: calls with frames and without, a
// large frame, a deferred call, a closure. No stack grows on the way: in
// runtime.morestack, which loads SP, neither side knows the caller.
package main

import "os"

var sink int

func main() {
	sink = one(len(os.Args))
	sink += two(sink)
}

//go:noinline
func one(n int) int {
	defer func() { sink++ }()
	return leaf(n) + frame(n) + large(n)
}

//go:noinline
func leaf(n int) int { return n ^ sink }

//go:noinline
func frame(n int) int {
	f := func(k int) int { return leaf(k) + n }
	return apply(f, n) + apply(f, sink)
}

//go:noinline
func apply(f func(int) int, n int) int { return f(n) + 1 }

//go:noinline
func large(n int) int {
	var room [120]int
	room[n] = leaf(n)
	return room[n/2] + frame(room[n])
}

//go:noinline
func two(n int) int {
	b := make([]byte, 100+n&7)
	return copy(b, os.Args[0]) + frame(n)
}

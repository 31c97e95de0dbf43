// A program of functions in assembly whose depths can be counted by hand.
package main

func bare()
func pushes()
func frame()
func tail()
func loop()
func recurse()
func indirect()
func viaHook()
func given()
func aligns()
func record()
func gate()
func loads()
func fresh()

// hook is what viaHook calls.
var hook = target

var out int

//go:noinline
func target() { out++ }

//go:noinline
func gift() { out-- }

//go:noinline
func take(f func()) { f() }

//go:noinline
func gives() { take(gift) }

func main() {
	for _, f := range []func(){bare, pushes, frame, tail, loop, recurse, indirect, viaHook, given, aligns, record, gate, loads, fresh, gives} {
		f()
	}
	hook()
}

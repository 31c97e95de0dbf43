package golab

import "errors"

// Panics of compiled Go.

//go:noinline
func panicErrorA() { panicErrorB(); sink++ }

//go:noinline
func panicErrorB() { panicErrorC(); sink++ }

//go:noinline
func panicErrorC() { panic(errors.New("an error of the crash lab")) }

//go:noinline
func panicNestedA() { panicNestedB(); sink++ }

//go:noinline
func panicNestedB() { panicNestedC(); sink++ }

//go:noinline
func panicNestedC() {
	defer panicDeferred()
	panic("the first")
}

//go:noinline
func panicDeferred() { panic("the second") }

//go:noinline
func replaceA() { replaceB(); sink++ }

//go:noinline
func replaceB() { replaceC(); sink++ }

//go:noinline
func replaceC() {
	defer panicInstead()
	panic("the first")
}

//go:noinline
func panicInstead() {
	_ = recover()
	panic("the second")
}

//go:noinline
func repanicA() { repanicB(); sink++ }

//go:noinline
func repanicB() { repanicC(); sink++ }

//go:noinline
func repanicC() {
	defer panicAgain()
	panic("the first")
}

//go:noinline
func panicAgain() {
	r := recover()
	sink++
	panic(r)
}

//go:noinline
func assertA() { assertB(); sink++ }

//go:noinline
func assertB() { assertC(any(five)); sink++ }

//go:noinline
func assertC(x any) { sink = uint64(len(x.(string))) }

//go:noinline
func closedA() { closedB(); sink++ }

//go:noinline
func closedB() { closedC(make(chan int)); sink++ }

//go:noinline
func closedC(c chan int) { close(c); close(c); sink++ }

//go:noinline
func sendClosedA() { sendClosedB(); sink++ }

//go:noinline
func sendClosedB() { sendClosedC(make(chan int, 1)); sink++ }

//go:noinline
func sendClosedC(c chan int) { close(c); c <- five; sink++ }

//go:noinline
func nilMapA() { nilMapB(); sink++ }

//go:noinline
func nilMapB() { nilMapC(nil); sink++ }

//go:noinline
func nilMapC(m map[string]int) { m["key"] = five; sink++ }

//go:noinline
func conversionA() { conversionB(); sink++ }

//go:noinline
func conversionB() { conversionC(table[:]); sink++ }

//go:noinline
func conversionC(s []uint64) { a := [4]uint64(s); sink += a[five&3] }

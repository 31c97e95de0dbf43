// Command culprits6 dies of a field that another function has written.
package main

type inner struct{ a, m int }

type state struct {
	n    int
	in   inner
	row  [4]int32
	name string
	next *state
}

var st state
var list = &state{}

//go:noinline
func setM(v int) { st.in.m = v }

//go:noinline
func setRow(i int) { st.row[i] = 7 }

//go:noinline
func (s *state) grow() { s.next = &state{n: 9} }

//go:noinline
func bump(c *state) { c.n++ }

//go:noinline
func check(n int) {
	if n > 9 {
		panic("too much")
	}
}

//go:noinline
func die(c *state) {
	check(c.n)
	c.n = 0
}

func main() {
	setM(3)
	setRow(2)
	list.grow()
	bump(list.next)
	die(list.next)
}

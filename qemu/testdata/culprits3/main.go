// Command culprits3 dies of something that another place has done, as culprits does: of what is not there any more, and
// of what was asked for. Each kind has one line that is to blame, marked with its name.
package main

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var kinds = map[string]func(){
	"mapdelete": mapDelete, "mapclear": mapClear, "rangedelete": rangeDelete,
	"recvclosed": receiveClosed, "selectclosed": selectClosed, "waitclosed": waitClosed,
	"makelen": makeLength, "makecap": makeCapacity, "heap": heaps, "neighbour": neighbour, "scanner": scanner,
	"error": failed, "unset": unset, "huge": huge, "order": byteOrder,
}

func main() { culprit.Main(kinds) }

type item struct{ id int }

// elsewhere runs a function in another goroutine, and waits for it.
func elsewhere(f func()) {
	done := make(chan bool)
	go func() { defer close(done); f() }()
	<-done
	culprit.Work()
}

// A key that was there, and is not any more.
var table = map[string]*item{}

//go:noinline
func use(name string) int { return table[name].id }

//go:noinline
func drop(name string) {
	delete(table, name) // culprit mapdelete
}

func mapDelete() {
	table["a"], table["b"] = &item{1}, &item{2}
	elsewhere(func() { drop("a") })
	fmt.Println(use("b"))
	fmt.Println(use("a"))
}

//go:noinline
func empty(m map[string]*item) {
	clear(m) // culprit mapclear
}

func mapClear() {
	table["a"] = &item{1}
	elsewhere(func() { empty(table) })
	fmt.Println(use("a"))
}

type point struct{ x, y int }

//go:noinline
func forget(grid map[point]*item, from int) {
	for p := range grid {
		if p.x > from {
			delete(grid, p) // culprit rangedelete
		}
	}
}

func rangeDelete() {
	grid := map[point]*item{}
	for i := range 20 {
		grid[point{i, -i}] = &item{i}
	}
	elsewhere(func() { forget(grid, 4) })
	fmt.Println(grid[point{3, -3}].id)
	fmt.Println(grid[point{7, -7}].id)
}

// A channel that is closed gives the zero value.

//go:noinline
func next(ch chan *item) int { return (<-ch).id }

//go:noinline
func stop(ch chan *item) {
	close(ch) // culprit recvclosed
}

func receiveClosed() {
	ch := make(chan *item, 2)
	ch <- &item{7}
	fmt.Println(next(ch))
	elsewhere(func() { stop(ch) })
	fmt.Println(next(ch))
}

//go:noinline
func either(a, b chan *item) int {
	select {
	case x := <-a:
		return x.id
	case x := <-b:
		return x.id + 1
	}
}

//go:noinline
func finish(ch chan *item) {
	close(ch) // culprit selectclosed
}

func selectClosed() {
	a, b := make(chan *item), make(chan *item, 1)
	b <- &item{3}
	fmt.Println(either(a, b))
	elsewhere(func() { finish(b) })
	fmt.Println(either(a, b))
}

//go:noinline
func giveUp(ch chan *item) {
	close(ch) // culprit waitclosed
}

func waitClosed() {
	ch := make(chan *item)
	go func() { culprit.Work(); giveUp(ch) }()
	fmt.Println(next(ch))
}

// More is asked for than there can be.
type limits struct{ low, high int }

//go:noinline
func narrow(l *limits, by int) {
	l.high -= by // culprit makelen
}

//go:noinline
func between(l *limits) []byte { return make([]byte, l.high-l.low) }

func makeLength() {
	l := &limits{4, 10}
	fmt.Println(len(between(l)))
	elsewhere(func() { narrow(l, 9) })
	fmt.Println(len(between(l)))
}

//go:noinline
func widen(l *limits) {
	l.high = l.low - 3 // culprit makecap
}

func makeCapacity() {
	l := &limits{4, 10}
	elsewhere(func() { widen(l) })
	fmt.Println(len(make([]int, l.low, l.high)))
}

// A callee's answer that others have only passed on, into a heap.
type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].id < q[j].id }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*item)) }
func (q *queue) Pop() any          { panic("nobody asks") }

//go:noinline
func find(id int) *item {
	if id%5 == 0 {
		return nil // culprit heap
	}
	return &item{id}
}

func heaps() {
	q := &queue{}
	for i := 3; i < 6; i++ {
		heap.Push(q, find(i))
	}
}

// A slice that is longer than what it is of.
type block struct {
	words [4]uint64
	next  *item
}

//go:noinline
func fill(p *uint64, n int) {
	s := unsafe.Slice(p, n)
	for i := range s {
		s[i] = 0xdead00001111 // culprit neighbour
	}
}

func neighbour() {
	b := &block{next: &item{5}}
	fill(&b.words[0], 4)
	fmt.Println(b.next.id)
	elsewhere(func() { fill(&b.words[0], 5) })
	fmt.Println(b.next.id)
}

// The scanner's text is good until its next one only.

//go:noinline
func parse(text string) map[string][]byte {
	m := map[string][]byte{}
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(make([]byte, 16), 16)
	for s.Scan() { // culprit scanner
		key, _, _ := strings.Cut(s.Text(), "=")
		m[key] = s.Bytes()[len(key)+1:]
	}
	return m
}

func scanner() {
	m := parse("index=1\nsizes=9\nother=7\n")
	list := []int{10, 20, 30, 40}
	fmt.Println(list[m["index"][0]-'0'])
}

// An error that others have only passed on.
var errLow = errors.New("too low")

//go:noinline
func check(n int) error {
	if n < 3 {
		return fmt.Errorf("check %d: %w", n, errLow) // culprit error
	}
	return nil
}

//go:noinline
func step(n int) error { return check(n) }

func failed() {
	for n := 5; n > 0; n-- {
		if err := step(n); err != nil {
			panic(err)
		}
	}
}

// A field that nobody has set.
type base struct{ name string }

type derived struct {
	*base
	n int
}

//go:noinline
func build(n int) *derived {
	if n == 3 {
		return &derived{n: n} // culprit unset
	}
	return &derived{base: &base{"x"}, n: n}
}

func unset() {
	for n := range 5 {
		fmt.Println(len(build(n).name))
	}
}

// There is no memory for so much.
//
//go:noinline
func grow(l *limits, by int) {
	l.high *= by // culprit huge
}

func huge() {
	l := &limits{0, 1 << 10}
	elsewhere(func() { grow(l, 1<<20) })
	fmt.Println(len(make([]int64, l.high)))
}

// A length in the wrong order of its bytes, in an object that lies in a frame.
//
//go:noinline
func read(frame []byte) []byte {
	n := binary.LittleEndian.Uint16(frame)
	return frame[2 : 2+n]
}

func byteOrder() {
	frame := make([]byte, 32)
	binary.BigEndian.PutUint16(frame, 8) // culprit order
	culprit.Work()
	fmt.Println(len(read(frame)))
}

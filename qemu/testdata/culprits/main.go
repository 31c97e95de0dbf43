// Command culprits dies of something that another place has done, long before or in another goroutine. Each kind
// has one line that is to blame, marked with its name.
package main

import (
	"container/list"
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var kinds = map[string]func(){
	"nilfield": nilField, "nilmap": nilMap, "header": header, "pool": pool, "doubleclose": doubleClose, "buffer": buffer,
	"wire": wire, "overflow": overflow, "closure": closure, "check": check, "divisor": divisor, "assertion": assertion,
	"sendclosed": sendClosed, "funcvalue": funcValue, "shorter": shorter, "channel": channel, "missing": missing, "atomic": atomicPointer,
	"list": unlinked, "zeroed": zeroed, "negative": negative, "copied": copied, "stack": stackWord, "method": methodValue,
	"slicebound": sliceBound, "appended": appended, "sorted": permuted, "deferred": deferred, "once": onceOnly, "timer": timer,
}

func main() { culprit.Main(kinds) }

type node struct {
	name  string
	value *int
	next  *node
	do    func(int) int
	any   any
	by    int
	at    int
}

//go:noinline
func (n *node) get() int { return *n.value }

var sink int

// goDo has another goroutine do something, and waits for it.
//
//go:noinline
func goDo(f func()) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { f(); wg.Done() }()
	wg.Wait()
}

// nilField: another goroutine sets the field.
func nilField() {
	n := &node{name: "a", value: new(int)}
	sink = n.get()
	goDo(func() { clearField(n) })
	culprit.Work()
	sink = n.get()
}

//go:noinline
func clearField(n *node) { n.value = nil } // culprit nilfield

// nilMap: a reset forgets to make the map.
var table = map[string]int{"a": 1}

func nilMap() {
	table["b"] = 2
	resetMap()
	culprit.Work()
	table["c"] = 3
}

//go:noinline
func resetMap() { table = nil } // culprit nilmap

// header: the length of a slice is overwritten through unsafe.
func header() {
	s := make([]int, 8)
	spoil(unsafe.Pointer(&s))
	culprit.Work()
	sink = last(&s, 7)
}

//go:noinline
func spoil(p unsafe.Pointer) {
	*(*int)(unsafe.Add(p, 8)) = 3 // culprit header
}

//go:noinline
func last(s *[]int, i int) int { return (*s)[i] }

// pool: an object is used behind its Put, when somebody else has got it.
var nodes = sync.Pool{New: func() any { return &node{value: new(int)} }}

func pool() {
	n := nodes.Get().(*node)
	nodes.Put(n)
	other()
	sink = n.get()
}

//go:noinline
func other() {
	n := nodes.Get().(*node)
	*n = node{name: "other"} // culprit pool
}

// doubleClose: a channel is closed by two.
func doubleClose() {
	c := make(chan int)
	closeFirst(c)
	culprit.Work()
	closeAgain(c)
}

//go:noinline
func closeFirst(c chan int) { close(c) } // culprit doubleclose

//go:noinline
func closeAgain(c chan int) { close(c) }

// buffer: a buffer that was given away is used anew.
var shared [64]byte

func buffer() {
	msg := encode(5)
	encode(77)
	culprit.Work()
	sink = pick(msg)
}

//go:noinline
func encode(n byte) []byte {
	for i := range shared {
		shared[i] = n // culprit buffer
	}
	return shared[:]
}

var numbers [16]int

//go:noinline
func pick(msg []byte) int { return numbers[msg[3]] }

// wire: a length that has come from outside is not checked.
func wire() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], 40)
	w.Write(head[:])
	msg := make([]byte, 4)
	r.Read(msg) // culprit wire
	n := length(msg)
	culprit.Work()
	sink = numbers[n]
}

//go:noinline
func length(msg []byte) int {
	return int(binary.LittleEndian.Uint32(msg))
}

// overflow: a sum does not fit into its type.
func overflow() {
	i := add(200, 100)
	culprit.Work()
	sink = numbers[i]
}

//go:noinline
func add(a, b uint8) uint8 {
	return a + b // culprit overflow
}

// closure: a closure has a variable that is changed before it runs.
func closure() {
	i := 3
	f := func() int { return numbers[i] }
	for ; i < 20; i++ { // culprit closure
		sink += i
	}
	culprit.Work()
	sink = call(f)
}

//go:noinline
func call(f func() int) int { return f() }

// check: it changes between the check and the use.
var current atomic.Pointer[node]

func check() {
	n := &node{value: new(int)}
	if n.value != nil {
		goDo(func() { drop(n) })
		sink = *n.value
	}
}

//go:noinline
func drop(n *node) {
	n.value = nil // culprit check
}

// divisor: a configuration is 0.
type config struct{ workers, load int }

func divisor() {
	c := &config{workers: 4, load: 100}
	configure(c, "workers=")
	culprit.Work()
	sink = share(c)
}

//go:noinline
func configure(c *config, text string) {
	c.workers = len(text) - 8 // culprit divisor
}

//go:noinline
func share(c *config) int { return c.load / c.workers }

// assertion: an interface holds another type.
func assertion() {
	n := &node{any: 5}
	goDo(func() { setText(n) })
	culprit.Work()
	sink = n.any.(int)
}

//go:noinline
func setText(n *node) {
	n.any = "five" // culprit assertion
}

// sendClosed: one sends while another one has closed.
func sendClosed() {
	c := make(chan int, 1)
	goDo(func() { finish(c) })
	culprit.Work()
	c <- 1
}

//go:noinline
func finish(c chan int) {
	close(c) // culprit sendclosed
}

// funcValue: a function value is nil.
func funcValue() {
	n := &node{do: func(i int) int { return i }}
	sink = n.do(1)
	forget(n)
	culprit.Work()
	sink = n.do(2)
}

//go:noinline
func forget(n *node) {
	n.do = nil // culprit funcvalue
}

// shorter: a slice is cut.
var row = make([]int, 10)

func shorter() {
	cut(4)
	culprit.Work()
	sink = row[index(9)]
}

//go:noinline
func cut(n int) {
	row = row[:n:n] // culprit shorter
}

//go:noinline
func index(n int) int { return n }

// channel: the nil comes through a channel.
func channel() {
	c := make(chan *node, 4)
	go produce(c)
	culprit.Work()
	n := <-c
	sink = n.get()
}

//go:noinline
func produce(c chan *node) {
	n := &node{}
	n.value = nothing()
	c <- n
}

//go:noinline
func nothing() *int {
	return nil // culprit channel
}

// missing: a map has no such key.
func missing() {
	m := map[string]*node{"a": {value: new(int)}}
	n := m["b"] // culprit missing
	culprit.Work()
	sink = n.get()
}

// atomicPointer: another goroutine stores nil.
func atomicPointer() {
	current.Store(&node{value: new(int)})
	goDo(func() {
		current.Store(nil) // culprit atomic
	})
	culprit.Work()
	sink = current.Load().get()
}

// unlinked: an element of a list has been taken out.
func unlinked() {
	l := list.New()
	e := l.PushBack(1)
	l.PushBack(2)
	l.Remove(e) // culprit list
	culprit.Work()
	sink = e.Next().Value.(int)
}

// zeroed: a structure is overwritten as a whole.
func zeroed() {
	n := &node{name: "a", value: new(int), next: &node{}}
	clean(n)
	culprit.Work()
	sink = n.next.by
}

//go:noinline
func clean(n *node) {
	*n = node{} // culprit zeroed
}

// negative: an index below 0.
func negative() {
	n := &node{by: 3}
	back(n, 5)
	culprit.Work()
	sink = numbers[n.by]
}

//go:noinline
func back(n *node, by int) {
	n.by -= by // culprit negative
}

// copied: a bad pointer is copied from one structure to the next.
func copied() {
	a := &node{value: new(int)}
	clearB(a)
	b := *a
	c := &node{}
	*c = b
	culprit.Work()
	sink = c.get()
}

//go:noinline
func clearB(n *node) {
	n.value = nil // culprit copied
}

// stackWord: a variable of another function's frame is overwritten.
func stackWord() {
	n := 2
	overwrite(&n)
	culprit.Work()
	sink = numbers[n]
}

//go:noinline
func overwrite(p *int) {
	*p = 99 // culprit stack
}

// methodValue: an interface is nil.
type getter interface{ get() int }

var source getter = &node{value: new(int)}

func methodValue() {
	setSource(nil)
	culprit.Work()
	sink = source.get()
}

//go:noinline
func setSource(g getter) {
	source = g // culprit method
}

// sliceBound: a bound is behind the end.
func sliceBound() {
	b := make([]byte, 10)
	n := measure("a long text") // culprit slicebound
	culprit.Work()
	sink = len(b[:n])
}

//go:noinline
func measure(s string) int {
	return len(s)
}

// appended: two slices share their array.
func appended() {
	a := make([]int, 3, 8)
	b := append(a, 1)
	c := append(a, 40) // culprit appended
	culprit.Work()
	sink = numbers[b[3]] + c[0]
}

// permuted: an order has an index too large.
func permuted() {
	order := []int{1, 0, 2}
	shuffle(order)
	culprit.Work()
	for _, i := range order {
		sink += row[i]
	}
}

//go:noinline
func shuffle(order []int) {
	order[0], order[2] = order[2]+30, order[0] // culprit sorted
}

// deferred: a deferred function has taken something back.
func deferred() {
	n := open()
	culprit.Work()
	sink = n.get()
}

//go:noinline
func open() *node {
	n := &node{value: new(int)}
	defer release(n)
	return n
}

//go:noinline
func release(n *node) {
	n.value = nil // culprit deferred
}

// onceOnly: what is set up once is taken away by a reset, and not set up again.
var (
	setUp sync.Once
	conn  *node
)

func connection() *node {
	setUp.Do(func() { conn = &node{value: new(int)} })
	return conn
}

func onceOnly() {
	sink = connection().get()
	hangUp()
	culprit.Work()
	sink = connection().get()
}

//go:noinline
func hangUp() {
	conn = nil // culprit once
}

// timer: a timer's function comes in between.
func timer() {
	n := &node{value: new(int)}
	time.AfterFunc(time.Millisecond, func() {
		n.value = nil // culprit timer
	})
	time.Sleep(3 * time.Millisecond)
	culprit.Work()
	sink = n.get()
}

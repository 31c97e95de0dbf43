// Command culprits2 dies of something that another place has done, as culprits does: of what assembly, the kernel
// and a device have done, and on ways through more of the standard library. Each kind has one line that is to
// blame, marked with its name.
package main

import (
	"encoding/json"
	"reflect"
	"strconv"
	"sync"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var kinds = map[string]func(){
	"lostupdate": lostUpdate, "window": overlapping, "mapvalue": mapValue, "typeswitch": typeSwitch, "workers": workers,
	"reflect": reflected, "handler": handlers, "strconv": parsed, "json": decoded, "swallowed": swallowed, "float": floats,
	"donetwice": doneTwice, "unlocked": unlockedTwice,
	"frame": reusedFrame, "assembly": assembly, "returnaddress": returnAddress, "kerneltable": kernelTable, "dma": dma,
	"waiting": waiting, "plain": plain,
}

func main() { culprit.Main(kinds) }

// plain panics whatever happens.
func plain() {
	culprit.Work()
	panic("plain")
}

var (
	sink    int
	numbers [16]int
)

// lostUpdate: a counter has two locks, so that an update is lost.
var (
	lockA, lockB sync.Mutex
	used         = 2
	turn         = make(chan bool) // what happens to fall in between, each time
)

func lostUpdate() {
	var both sync.WaitGroup
	both.Add(2)
	go func() { leaveSlowly(); both.Done() }()
	go func() { leave(); both.Done() }()
	both.Wait()
	culprit.Work()
	if used != 0 {
		panic("somebody is left")
	}
}

//go:noinline
func leaveSlowly() {
	lockA.Lock()
	n := used
	turn <- true
	<-turn
	used = n - 1 // culprit lostupdate
	lockA.Unlock()
}

//go:noinline
func leave() {
	<-turn
	lockB.Lock()
	used--
	lockB.Unlock()
	turn <- true
}

// overlapping: two parts of an array are one word longer than they should be.
type window struct{ row []int }

func overlapping() {
	array := make([]int, 8)
	left, right := &window{row: array[:5]}, &window{row: array[4:]}
	right.set(0, 3)
	left.fill(70)
	culprit.Work()
	sink = numbers[right.row[0]]
}

//go:noinline
func (w *window) set(i, v int) { w.row[i] = v }

//go:noinline
func (w *window) fill(v int) {
	for i := range w.row {
		w.row[i] = v + i // culprit window
	}
}

// mapValue: a limit goes through a map.
type limit struct {
	name string
	most int
}

func mapValue() {
	limits := map[string]limit{}
	for i, name := range []string{"small", "large", "huge"} {
		limits[name] = limit{name, most(i)}
	}
	culprit.Work()
	sink = numbers[limits["huge"].most]
}

//go:noinline
func most(i int) int {
	return 1 << (3 * i) // culprit mapvalue
}

// typeSwitch: an interface holds a nil pointer.
type shape interface{ area() int }

type square struct{ side *int }

func (s *square) area() int { return *s.side }

func typeSwitch() {
	x := find("circle")
	culprit.Work()
	switch v := x.(type) {
	case *square:
		sink = *v.side
	case nil:
		sink = 1
	}
}

//go:noinline
func find(name string) shape { return lookUp(name) }

//go:noinline
func lookUp(name string) *square {
	if name == "square" {
		return &square{side: new(int)}
	}
	return nil // culprit typeswitch
}

// workers: a job's result goes through two channels.
type job struct{ n, result int }

func workers() {
	jobs, results := make(chan job), make(chan job, 2)
	for range 3 {
		go serve(jobs, results)
	}
	go func() {
		for i := range 12 {
			jobs <- job{n: i}
		}
		close(jobs)
	}()
	for range 12 {
		j := <-results
		sink += numbers[j.result]
	}
}

//go:noinline
func serve(jobs, results chan job) {
	for j := range jobs {
		j.result = j.n * 2 // culprit workers
		results <- j
	}
}

// reflected: a field is set by its name.
type settings struct{ Workers, Load int }

func reflected() {
	s := &settings{4, 100}
	set(s, "Workers", 0)
	culprit.Work()
	sink = s.Load / s.Workers
}

//go:noinline
func set(s *settings, name string, v int64) {
	reflect.ValueOf(s).Elem().FieldByName(name).SetInt(v) // culprit reflect
}

// handlers: a method value is bound to a receiver that does not suit.
type handler struct{ from int }

//go:noinline
func (h handler) handle(i int) int { return numbers[h.from+i] }

func handlers() {
	on := map[string]func(int) int{}
	for i := range 3 {
		on[strconv.Itoa(i)] = makeHandler(i).handle
	}
	culprit.Work()
	sink = on["0"](1) + on["2"](1)
}

//go:noinline
func makeHandler(i int) handler {
	return handler{from: i*10 - 3} // culprit handler
}

// parsed: a number cannot be parsed, and nobody asks.
func parsed() {
	per := number("12x")
	culprit.Work()
	sink = 100 / per
}

//go:noinline
func number(text string) int {
	n, _ := strconv.Atoi(text) // culprit strconv
	return n
}

// decoded: an index comes in JSON.
func decoded() {
	var c struct{ Rows, Index int }
	if err := json.Unmarshal([]byte(`{"rows": 3, "index": -4}`), &c); err != nil { // culprit json
		panic(err)
	}
	culprit.Work()
	sink = numbers[c.Index]
}

// swallowed: a deferred function has caught a panic, and the result is what it was.
func swallowed() {
	s := load("square of 3")
	culprit.Work()
	sink = s.area()
}

//go:noinline
func load(text string) (s *square) { // culprit swallowed
	defer func() { recover() }()
	return &square{side: mustParse(text)}
}

//go:noinline
func mustParse(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return &n
}

// floats: a mean of nothing is no number.
type series struct {
	values []float64
	mean   float64
}

func floats() {
	s := &series{}
	s.average()
	culprit.Work()
	sink = numbers[int(s.mean)]
}

//go:noinline
func (s *series) average() {
	sum := 0.0
	for _, v := range s.values {
		sum += v
	}
	s.mean = sum / float64(len(s.values)) // culprit float
}

// doneTwice: a group's counter goes below zero.
func doneTwice() {
	var all sync.WaitGroup
	all.Add(1)
	goOn(&all)
	culprit.Work()
	all.Done()
}

//go:noinline
func goOn(all *sync.WaitGroup) {
	all.Done() // culprit donetwice
}

// unlockedTwice: a lock is given back by two.
func unlockedTwice() {
	var mu sync.Mutex
	mu.Lock()
	giveBack(&mu)
	culprit.Work()
	mu.Unlock()
}

//go:noinline
func giveBack(mu *sync.Mutex) {
	mu.Unlock() // culprit unlocked
}

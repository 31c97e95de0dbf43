package main

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var errMissing = errors.New("not found")

// commaOK: a key was deleted.
type store struct{ items map[string]int }

func commaOK() {
	s := &store{map[string]int{"a": 1, "b": 2}}
	elsewhere(func() { s.remove("a") })
	culprit.Work()
	if _, err := s.find("a"); err != nil {
		panic(err)
	}
}

//go:noinline
func (s *store) remove(key string) {
	delete(s.items, key) // culprit commaok
}

//go:noinline
func (s *store) find(key string) (int, error) {
	n, ok := s.items[key]
	if !ok {
		return 0, fmt.Errorf("%s: %w", key, errMissing)
	}
	return n, nil
}

// syncMap: the same of a map for several goroutines.
var shared sync.Map

func syncMap() {
	shared.Store("a", 1)
	shared.Store("b", 2)
	elsewhere(func() { forget("a") })
	fmt.Println(shared.Load("b"))
	if _, ok := shared.Load("a"); !ok {
		panic("missing")
	}
}

//go:noinline
func forget(key string) {
	shared.Delete(key) // culprit syncmap
}

func syncClear() {
	shared.Store(7, 1)
	elsewhere(func() { wipe() })
	if _, ok := shared.Load(7); !ok {
		panic("missing")
	}
}

//go:noinline
func wipe() {
	shared.Clear() // culprit syncclear
}

// leastRecent: a cache with a list of what was used last.
type cache struct {
	order *list.List
	items map[int]*list.Element
}

func leastRecent() {
	c := &cache{list.New(), map[int]*list.Element{}}
	for i := range 4 {
		c.put(i)
	}
	if err := c.get(0); err != nil {
		panic(err)
	}
}

//go:noinline
func (c *cache) put(key int) {
	c.items[key] = c.order.PushFront(key)
	if len(c.items) > 3 {
		c.evict()
	}
}

//go:noinline
func (c *cache) evict() {
	e := c.order.Back()
	c.order.Remove(e)
	delete(c.items, e.Value.(int)) // culprit lru
}

//go:noinline
func (c *cache) get(key int) error {
	e, ok := c.items[key]
	if !ok {
		return errMissing
	}
	c.order.MoveToFront(e)
	return nil
}

// evicted: a cache that is a slice.
type recent struct{ entries []entry }

type entry struct{ key, value int }

func evicted() {
	r := &recent{}
	for i := range 4 {
		r.entries = append(r.entries, entry{i + 10, i})
	}
	fmt.Println(r.find(13))
	elsewhere(func() { r.trim(2) })
	if _, err := r.find(13); err != nil {
		panic(err)
	}
}

//go:noinline
func (r *recent) trim(n int) {
	r.entries = r.entries[:n] // culprit evicted
}

//go:noinline
func (r *recent) find(key int) (int, error) {
	for i := range r.entries {
		if r.entries[i].key == key {
			return r.entries[i].value, nil
		}
	}
	return 0, errMissing
}

// slot: a table in which another key takes the place.
type table struct{ slots [8]entry }

func slot() {
	t := &table{}
	t.put(3, 1)
	fmt.Println(t.find(3))
	t.over(11, 2)
	if _, err := t.find(3); err != nil {
		panic(err)
	}
}

//go:noinline
func (t *table) put(key, value int) { t.slots[key%8] = entry{key, value} }

//go:noinline
func (t *table) over(key, value int) {
	t.slots[key%8] = entry{key, value} // culprit slot
}

//go:noinline
func (t *table) find(key int) (int, error) {
	if e := &t.slots[key%8]; e.key == key {
		return e.value, nil
	}
	return 0, errMissing
}

// renewed: another map has taken its place.
func renewed() {
	s := &store{map[string]int{}}
	s.items["a"] = 1
	elsewhere(func() { s.reset() })
	if _, err := s.find("a"); err != nil {
		panic(err)
	}
}

//go:noinline
func (s *store) reset() {
	s.items = map[string]int{"b": 2} // culprit renewed
}

// nilEntry: an entry was overwritten.
func nilEntry() {
	m := map[string]*entry{"a": {1, 2}}
	elsewhere(func() { void(m, "a") })
	culprit.Work()
	fmt.Println(m["a"].value)
}

//go:noinline
func void(m map[string]*entry, key string) {
	m[key] = nil // culprit nilentry
}

// never: nobody has ever put in the key.
func never() {
	s := &store{map[string]int{"a": 1}}
	culprit.Work()
	if _, err := s.find("never"); err != nil {
		panic(err)
	}
}

// unwritten: nobody has ever set the field.
type job struct{ done chan bool }

//go:noinline
func newJob() *job {
	return &job{}
}

func unwritten() {
	j := newJob()
	culprit.Work()
	close(j.done)
}

// hoard: there is no memory left, and nobody can say whose fault that is.
func hoard() {
	var all [][]byte
	for {
		b := make([]byte, 4<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
}

// Package racy has five races as programs have them. Each is seldom seen: its window is some instructions in
// thousands, and on one CPU only a thread, or goroutine, that loses the CPU there shows it. They are found by
// zf test -record-failures.
package racy

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// sink has what nobody wants.
var sink uint64

// work is what a program does beside what the race is about: so many turns of a loop.
//
//go:noinline
func work(turns int) uint64 {
	x := uint64(turns) | 1
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// together runs f in several goroutines at a time.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// account is without a lock.
type account struct{ balance int }

// fee is what a booking costs.
//
//go:noinline
func fee(balance int) int {
	if work(4) == 0 || balance > 1<<30 {
		return 2
	}
	return 1
}

// book reads the balance, and writes what it was then.
//
//go:noinline
func (a *account) book() {
	b := a.balance
	b += fee(b)
	a.balance = b
}

// TestLostUpdate: two read the same balance, and one booking is lost.
func TestLostUpdate(t *testing.T) {
	const clerks, bookings = 2, 1500
	var a account
	together(clerks, func(i int) {
		for range bookings {
			work(1200)
			a.book()
		}
	})
	if a.balance != clerks*bookings {
		t.Errorf("the balance is %d after %d bookings", a.balance, clerks*bookings)
	}
}

// cache opens each name once, if nobody comes between the look and the entry.
type cache struct {
	mu     sync.Mutex
	opened map[string]int
}

// open takes a while.
//
//go:noinline
func open(name string) int { return int(work(800)) + len(name) }

func (c *cache) get(name string) {
	c.mu.Lock()
	n := c.opened[name]
	c.mu.Unlock()
	if n == 0 {
		open(name)
		c.mu.Lock()
		c.opened[name]++
		c.mu.Unlock()
	}
}

// TestCheckThenAct: two see that a name is not open, and both open it.
func TestCheckThenAct(t *testing.T) {
	const names = 300
	c := cache{opened: make(map[string]int)}
	together(2, func(i int) {
		for n := range names {
			work(6400)
			c.get(fmt.Sprint("name", n))
		}
	})
	for name, n := range c.opened {
		if n != 1 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
}

// limits are read when they are first asked for, and are seen before they are read.
type limits struct{ most int }

type lazy struct{ l *limits }

//go:noinline
func (z *lazy) get() *limits {
	if z.l == nil {
		z.l = new(limits)
		z.l.most = int(work(200) | 1)
	}
	return z.l
}

// TestLazyInit: one sees the limits of another that is about to fill them in.
func TestLazyInit(t *testing.T) {
	const places = 300
	var all [places]lazy
	together(2, func(i int) {
		for p := range all {
			work(6400)
			if all[p].get().most == 0 {
				t.Errorf("the limits of place %d are not there yet", p)
			}
		}
	})
}

// queue tells who waits that something has come, and unlocks too early for that.
type queue struct {
	mu      sync.Mutex
	items   []int
	waiting bool
	come    chan bool
}

func (q *queue) put(item int) {
	q.mu.Lock()
	q.items = append(q.items, item)
	tell := q.waiting
	q.waiting = false
	q.mu.Unlock()
	if tell {
		select {
		case q.come <- true:
		default: // "it does not wait any more"
		}
	}
}

func (q *queue) take() (item int, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			item, q.items = q.items[0], q.items[1:]
			q.mu.Unlock()
			return item, true
		}
		q.waiting = true
		q.mu.Unlock()
		// Who puts an item in here finds nobody at the channel.
		select {
		case <-q.come:
		case <-time.After(time.Second):
			return 0, false
		}
	}
}

// TestUnlockNotify: one that is about to wait is not told, and waits for ever.
func TestUnlockNotify(t *testing.T) {
	const items = 60
	q := queue{come: make(chan bool)}
	together(2, func(i int) {
		for n := range items {
			if i == 0 {
				work(4000)
				q.put(n)
			} else if _, ok := q.take(); !ok {
				t.Errorf("item %d is there, and nobody has said so", n)
				return
			} else {
				work(3000)
			}
		}
	})
}

// routes has two slices that belong together, and are replaced one by one.
type routes struct {
	names []string
	ports []int
}

//go:noinline
func (r *routes) load(n int) {
	names, ports := make([]string, n), make([]int, n)
	r.names = names
	for i := range ports {
		ports[i] = int(work(10))
	}
	r.ports = ports
}

//go:noinline
func (r *routes) last() int { return r.ports[len(r.names)-1] }

// TestSwap: one sees the names of the new routes and the ports of the old ones.
func TestSwap(t *testing.T) {
	var r routes
	r.load(1)
	together(2, func(i int) {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("routes: %v", p)
			}
		}()
		for n := range 300 {
			work(6400)
			if i == 0 {
				r.load(1 + n%2*7)
			} else {
				sink += uint64(r.last())
			}
		}
	})
}

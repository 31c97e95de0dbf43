package main

// Locks that wait for each other.

import (
	"fmt"
	"sync"
)

// AB-BA: each of two goroutines has what the other wants.
var (
	mu1, mu2 sync.Mutex
	ready    sync.WaitGroup
)

func abba() {
	ready.Add(2)
	go takeAB()
	takeBA()
}

func takeAB() {
	mu1.Lock()
	defer mu1.Unlock()
	ready.Done()
	ready.Wait()
	mu2.Lock()
	fmt.Println("never")
	mu2.Unlock()
}

func takeBA() {
	mu2.Lock()
	ready.Done()
	ready.Wait()
	mu1.Lock()
	fmt.Println("never")
	mu1.Unlock()
	mu2.Unlock()
}

// The upgrade of a read lock: a writer waits for all readers, itself among them.
type cache struct {
	rw    sync.RWMutex
	items map[string]int
}

var theCache = &cache{items: map[string]int{}}

func upgrade() {
	theCache.get("a")
}

//go:noinline
func (c *cache) get(key string) int {
	c.rw.RLock()
	defer c.rw.RUnlock()
	n, ok := c.items[key]
	if !ok {
		n = c.load(key)
	}
	return n
}

//go:noinline
func (c *cache) load(key string) int {
	c.rw.Lock()
	defer c.rw.Unlock()
	c.items[key] = len(key)
	return len(key)
}

// One that locks what it has locked, by way of a method of its own.
type account struct {
	mu      sync.Mutex
	balance int
}

//go:noinline
func (a *account) lock() { a.mu.Lock() }

//go:noinline
func (a *account) unlock() { a.mu.Unlock() }

//go:noinline
func (a *account) add(n int) {
	a.lock()
	a.balance += n
	a.unlock()
}

//go:noinline
func (a *account) double() {
	a.lock()
	a.add(a.balance)
	a.unlock()
}

func self() {
	a := &account{balance: 1}
	a.double()
	fmt.Println(a.balance)
}

// The dining philosophers: five forks, and each has the left one.
type table struct {
	forks  [5]sync.Mutex
	seated sync.WaitGroup
}

func dining() {
	t := new(table)
	t.seated.Add(len(t.forks))
	for i := range t.forks {
		go t.philosopher(i)
	}
	select {}
}

func (t *table) philosopher(i int) {
	left, right := &t.forks[i], &t.forks[(i+1)%len(t.forks)]
	left.Lock()
	t.seated.Done()
	t.seated.Wait()
	right.Lock()
	fmt.Println("eats", i)
	right.Unlock()
	left.Unlock()
}

// A Once whose function comes to the same Once.
var config sync.Once

func onceAgain() { config.Do(readConfig) }

//go:noinline
func readConfig() {
	fmt.Println("config of", configName())
}

//go:noinline
func configName() string {
	config.Do(readConfig)
	return "name"
}

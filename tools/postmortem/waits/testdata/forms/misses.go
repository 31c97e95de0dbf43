package main

import "sync"

// In each, one goroutine seems to hold a when it waits for b, whose holder waits for a. It does not:
// another one has locked a, and is gone.

var misses = []func(){
	unlocked, byHelper, replaced, tried, byDefer, byOther, byValue, byClosure, byGeneric, inMap, inLoop, handOver, waited,
	sometimes, popped, leaked, instance, reader, byMember, aliased, byArgument,
}

// miss runs one who is to take a, do something, and give it back before it meets, and then waits for b.
func miss(a sync.Locker, f func(b sync.Locker, m *meeting)) {
	b := new(sync.Mutex)
	m := of(2)
	go func() { b.Lock(); m.meet(); taken(a); a.Lock(); b.Unlock() }()
	go f(b, m)
}

func unlocked() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { direct(a, a, b, m) })
}

//go:noinline
func direct(a *sync.Mutex, l, b sync.Locker, m *meeting) {
	a.Lock()
	l.Unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

//go:noinline
func free(l sync.Locker) { l.Unlock() }

func byHelper() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { a.Lock(); free(a); m.meet(); b.Lock(); b.Unlock() })
}

//go:noinline
func (h *holder) replace(b sync.Locker, m *meeting) {
	h.l.Lock()
	h.l = h.next.l
	m.meet()
	b.Lock()
	h.l.Unlock()
}

func replaced() {
	a := new(sync.Mutex)
	h := &holder{l: new(vault), next: &holder{l: a}}
	miss(a, func(b sync.Locker, m *meeting) { h.replace(b, m) })
}

type tryer interface {
	sync.Locker
	TryLock() bool
}

//go:noinline
func tries(a tryer, b sync.Locker, m *meeting) {
	got := a.TryLock()
	m.meet()
	b.Lock()
	if got {
		a.Unlock()
	}
}

func tried() {
	a, b := new(sync.Mutex), new(sync.Mutex)
	taken(a)
	m := of(2)
	go func() { b.Lock(); m.meet(); a.Lock(); b.Unlock() }()
	go func() { tries(a, b, m) }()
}

//go:noinline
func leaves(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}

func byDefer() {
	a := new(vault)
	miss(a, func(b sync.Locker, m *meeting) { leaves(a); m.meet(); b.Lock(); b.Unlock() })
}

func byOther() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) {
		a.Lock()
		done := make(chan bool)
		go func() { a.Unlock(); close(done) }()
		<-done
		m.meet()
		b.Lock()
		b.Unlock()
	})
}

//go:noinline
func values(lock, unlock func(), b sync.Locker, m *meeting) {
	lock()
	unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

func byValue() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { values(a.Lock, a.Unlock, b, m) })
}

//go:noinline
func first(a *sync.Mutex, unlock func(), b sync.Locker, m *meeting) {
	a.Lock()
	unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

func byClosure() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { first(a, func() { a.Unlock() }, b, m) })
}

//go:noinline
func gives[L sync.Locker](a L, b sync.Locker, m *meeting) {
	a.Lock()
	a.Unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

func byGeneric() {
	a := new(vault)
	miss(a, func(b sync.Locker, m *meeting) { gives(a, b, m) })
}

//go:noinline
func reset(locks map[int]sync.Locker, a, b sync.Locker, m *meeting) {
	locks[1].Lock()
	locks[1] = a
	m.meet()
	b.Lock()
	locks[1].Unlock()
}

func inMap() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { reset(map[int]sync.Locker{1: new(vault)}, a, b, m) })
}

//go:noinline
func every(locks []sync.Locker, b sync.Locker, m *meeting) {
	for _, l := range locks {
		l.Lock()
	}
	for _, l := range locks {
		l.Unlock()
	}
	m.meet()
	b.Lock()
	b.Unlock()
}

func inLoop() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { every([]sync.Locker{new(vault), a}, b, m) })
}

//go:noinline
func step(a, b sync.Locker) { b.Lock(); a.Unlock() }

//go:noinline
func hand(a *sync.Mutex, c, b sync.Locker, m *meeting) {
	a.Lock()
	step(a, c)
	m.meet()
	b.Lock()
	b.Unlock()
	c.Unlock()
}

func handOver() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { hand(a, new(vault), b, m) })
}

// The condition's lock is given back while it is waited for.
func waited() {
	a := new(sync.Mutex)
	c := sync.NewCond(a)
	m := of(2)
	go func() { c.L.Lock(); m.Done(); c.Wait(); c.L.Unlock() }()
	go func() { m.meet(); taken(a); c.L.Lock() }()
}

//go:noinline
func freeIf(l sync.Locker, yes bool) {
	if yes {
		l.Unlock()
	}
}

//go:noinline
func may(a *sync.Mutex, yes bool, b sync.Locker, m *meeting) {
	a.Lock()
	freeIf(a, yes)
	m.meet()
	b.Lock()
	b.Unlock()
}

func sometimes() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { may(a, true, b, m) })
}

// What was called is nowhere any more.
//
//go:noinline
func pops(a *sync.Mutex, last *func(), b sync.Locker, m *meeting) {
	a.Lock()
	(*last)()
	*last = nil
	m.meet()
	b.Lock()
	b.Unlock()
}

func popped() {
	a := new(sync.Mutex)
	last := a.Unlock
	miss(a, func(b sync.Locker, m *meeting) { pops(a, &last, b, m) })
}

func leaked() {
	a := new(vault)
	miss(a, func(b sync.Locker, m *meeting) { m.meet(); b.Lock(); again(a); b.Unlock() })
}

func instance() {
	a := new(vault)
	miss(a, func(b sync.Locker, m *meeting) { both(new(vault), b, m) })
}

// One who reads keeps nobody from reading.
func reader() {
	rw := new(sync.RWMutex)
	miss(rw, func(b sync.Locker, m *meeting) {
		l := rw.RLocker()
		l.Lock()
		l.Unlock()
		m.meet()
		b.Lock()
		b.Unlock()
	})
}

//go:noinline
func (s *shop) passes(b sync.Locker, m *meeting) {
	s.lock()
	s.unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

func byMember() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { (&shop{a}).passes(b, m) })
}

//go:noinline
func alias(s *shop, l, b sync.Locker, m *meeting) {
	s.lock()
	l.Unlock()
	m.meet()
	b.Lock()
	b.Unlock()
}

func aliased() {
	a := new(vault)
	miss(a, func(b sync.Locker, m *meeting) { alias(&shop{a}, a, b, m) })
}

//go:noinline
func under(a *sync.Mutex, f func(sync.Locker), b sync.Locker, m *meeting) {
	a.Lock()
	f(a)
	m.meet()
	b.Lock()
	b.Unlock()
}

func byArgument() {
	a := new(sync.Mutex)
	miss(a, func(b sync.Locker, m *meeting) { under(a, free, b, m) })
}

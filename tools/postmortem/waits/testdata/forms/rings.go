package main

import "sync"

var rings = []func(){
	locker, party, offset, embedded, methodValue, generic, captured, mapped, mapKept, slice, loop, rlocker, cond, helper,
	begin, field, upgrade, three, asserted, itself, global, member, unlocker, expression, mixed, deep, array, deferred, inlined, swapped,
}

//go:noinline
func both(a, b sync.Locker, m *meeting) {
	a.Lock()
	m.meet()
	b.Lock()
	b.Unlock()
	a.Unlock()
}

func locker() {
	var a, b sync.Mutex
	m := of(2)
	go func() { both(&a, &b, m) }()
	go func() { both(&b, &a, m) }()
}

// Own methods, beside embedded ones.
type account interface {
	sync.Locker
	Balance() *int
}

type embeds struct {
	sync.Mutex
	n int
}

func (a *embeds) Balance() *int { return &a.n }

type vault struct {
	n  int
	mu sync.Mutex
}

func (v *vault) Lock()         { v.mu.Lock() }
func (v *vault) Unlock()       { v.mu.Unlock() }
func (v *vault) Balance() *int { return &v.n }

//go:noinline
func transfer(from, to account, m *meeting) {
	from.Lock()
	defer from.Unlock()
	m.meet()
	to.Lock()
	defer to.Unlock()
	*from.Balance()--
	*to.Balance()++
}

func party() {
	a, v := new(embeds), new(vault)
	m := of(2)
	go func() { transfer(a, v, m) }()
	go func() { transfer(v, a, m) }()
}

// Embedded further down: the method is a wrapper that jumps on.
type inner struct {
	name [3]string
	*embeds
}

type outer struct {
	name string
	sync.RWMutex
}

func offset() {
	a, b := &inner{embeds: new(embeds)}, new(outer)
	m := of(2)
	go func() { both(a, b, m) }()
	go func() { both(b, a, m) }()
}

type wraps struct {
	n int
	sync.Locker
}

func embedded() {
	a, b := &wraps{Locker: new(sync.Mutex)}, &wraps{Locker: new(vault)}
	m := of(2)
	go func() { both(a, b, m) }()
	go func() { both(b, a, m) }()
}

//go:noinline
func calls(lock, unlock, second func(), m *meeting) {
	lock()
	m.meet()
	second()
	unlock()
}

func methodValue() {
	var a, b sync.Mutex
	m := of(2)
	go func() { calls(a.Lock, a.Unlock, b.Lock, m) }()
	go func() { calls(b.Lock, b.Unlock, a.Lock, m) }()
}

//go:noinline
func shaped[L sync.Locker](a, b L, m *meeting) {
	a.Lock()
	m.meet()
	b.Lock()
	b.Unlock()
	a.Unlock()
}

func generic() {
	var a, b vault
	m := of(2)
	go func() { shaped(&a, &b, m) }()
	go func() { shaped(&b, &a, m) }()
}

func captured() {
	var a, b sync.Locker = new(vault), new(embeds)
	m := of(2)
	withA, withB := within(a), within(b)
	go func() { withA(func() { m.meet(); withB(func() {}) }) }()
	go func() { withB(func() { m.meet(); withA(func() {}) }) }()
}

//go:noinline
func within(l sync.Locker) func(func()) {
	return func(f func()) {
		l.Lock()
		defer l.Unlock()
		f()
	}
}

type registry struct{ locks map[string]*sync.Mutex }

//go:noinline
func (r *registry) both(a, b string, m *meeting) {
	r.locks[a].Lock()
	m.meet()
	r.locks[b].Lock()
	r.locks[b].Unlock()
	r.locks[a].Unlock()
}

func mapped() {
	r := &registry{map[string]*sync.Mutex{"a": new(sync.Mutex), "b": new(sync.Mutex)}}
	m := of(2)
	go func() { r.both("a", "b", m) }()
	go func() { r.both("b", "a", m) }()
}

//go:noinline
func keyed(locks map[int]sync.Locker, a, b int, m *meeting) {
	l := locks[a]
	l.Lock()
	defer l.Unlock()
	m.meet()
	k := locks[b]
	k.Lock()
	k.Unlock()
}

func mapKept() {
	locks := map[int]sync.Locker{1: new(sync.Mutex), 2: new(vault)}
	m := of(2)
	go func() { keyed(locks, 1, 2, m) }()
	go func() { keyed(locks, 2, 1, m) }()
}

//go:noinline
func indexed(locks []sync.Locker, i, j int, m *meeting) {
	locks[i].Lock()
	m.meet()
	locks[j].Lock()
	locks[j].Unlock()
	locks[i].Unlock()
}

func slice() {
	locks := []sync.Locker{new(sync.Mutex), new(vault)}
	m := of(2)
	go func() { indexed(locks, 0, 1, m) }()
	go func() { indexed(locks, 1, 0, m) }()
}

//go:noinline
func all(m *meeting, locks ...sync.Locker) {
	for i, l := range locks {
		if i == 1 {
			m.meet()
		}
		l.Lock()
	}
	for _, l := range locks {
		l.Unlock()
	}
}

func loop() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { all(m, a, b) }()
	go func() { all(m, b, a) }()
}

func rlocker() {
	var rw sync.RWMutex
	b := new(vault)
	m := of(2)
	r := rw.RLocker()
	go func() { both(r, b, m) }()
	go func() { both(b, &rw, m) }()
}

//go:noinline
func conds(a, b *sync.Cond, m *meeting) {
	a.L.Lock()
	m.meet()
	b.L.Lock()
	b.L.Unlock()
	a.L.Unlock()
}

func cond() {
	a, b := sync.NewCond(new(sync.Mutex)), sync.NewCond(new(vault))
	m := of(2)
	go func() { conds(a, b, m) }()
	go func() { conds(b, a, m) }()
}

// A function that locks and returns.
type shop struct{ l sync.Locker }

//go:noinline
func (s *shop) lock() { s.l.Lock() }

//go:noinline
func (s *shop) unlock() { s.l.Unlock() }

//go:noinline
func (s *shop) move(to *shop, m *meeting) {
	s.lock()
	defer s.unlock()
	m.meet()
	to.lock()
	to.unlock()
}

func helper() {
	a, b := &shop{new(sync.Mutex)}, &shop{new(vault)}
	m := of(2)
	go func() { a.move(b, m) }()
	go func() { b.move(a, m) }()
}

type store interface {
	Begin()
	Commit()
}

type table struct {
	rows int
	shop
}

//go:noinline
func (t *table) Begin() { t.lock(); t.rows++ }

//go:noinline
func (t *table) Commit() { t.rows--; t.unlock() }

//go:noinline
func join(a, b store, m *meeting) {
	a.Begin()
	defer a.Commit()
	m.meet()
	b.Begin()
	b.Commit()
}

func begin() {
	a, b := &table{shop: shop{new(sync.Mutex)}}, &table{shop: shop{new(sync.RWMutex)}}
	m := of(2)
	go func() { join(a, b, m) }()
	go func() { join(b, a, m) }()
}

type hooks struct{ lock, unlock func() }

//go:noinline
func (h *hooks) and(other *hooks, m *meeting) {
	h.lock()
	m.meet()
	other.lock()
	other.unlock()
	h.unlock()
}

func field() {
	a, b := new(sync.Mutex), new(vault)
	x, y := &hooks{a.Lock, a.Unlock}, &hooks{b.Lock, b.Unlock}
	m := of(2)
	go func() { x.and(y, m) }()
	go func() { y.and(x, m) }()
}

type shared interface {
	sync.Locker
	RLock()
	RUnlock()
}

//go:noinline
func raise(l shared) {
	l.RLock()
	l.Lock()
	l.Unlock()
	l.RUnlock()
}

func upgrade() {
	go func() { raise(new(outer)) }() // [1]
}

func three() {
	locks := []sync.Locker{new(sync.Mutex), new(vault), new(embeds)}
	m := of(3)
	for i := range locks {
		go func() { indexed(locks, i, (i+1)%3, m) }() // [3]
	}
}

//go:noinline
func asserts(a, b any, m *meeting) {
	a.(sync.Locker).Lock()
	m.meet()
	b.(sync.Locker).Lock()
	b.(sync.Locker).Unlock()
	a.(sync.Locker).Unlock()
}

func asserted() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { asserts(a, b, m) }()
	go func() { asserts(b, a, m) }()
}

//go:noinline
func again(l sync.Locker) { l.Lock(); l.Unlock() }

//go:noinline
func twice(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
	again(l)
}

func itself() {
	go func() { twice(new(embeds)) }() // [1]
}

var globalA, globalB sync.Locker = new(sync.Mutex), new(vault)

func global() {
	m := of(2)
	go func() { globalA.Lock(); m.meet(); globalB.Lock() }()
	go func() { globalB.Lock(); m.meet(); globalA.Lock() }()
}

type holder struct {
	n    int
	l    sync.Locker
	next *holder
}

//go:noinline
func (h *holder) down(m *meeting) {
	h.l.Lock()
	m.meet()
	h.next.l.Lock()
	h.next.l.Unlock()
	h.l.Unlock()
}

func member() {
	a, b := &holder{l: new(sync.Mutex)}, &holder{l: new(vault)}
	a.next, b.next = b, a
	m := of(2)
	go func() { a.down(m) }()
	go func() { b.down(m) }()
}

//go:noinline
func acquire(l sync.Locker) (unlock func()) {
	l.Lock()
	return func() { l.Unlock() }
}

//go:noinline
func nested(a, b sync.Locker, m *meeting) {
	defer acquire(a)()
	m.meet()
	defer acquire(b)()
}

func unlocker() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { nested(a, b, m) }()
	go func() { nested(b, a, m) }()
}

//go:noinline
func express(lock func(sync.Locker), a, b sync.Locker, m *meeting) {
	lock(a)
	m.meet()
	lock(b)
}

func expression() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { express(sync.Locker.Lock, a, b, m) }()
	go func() { express(sync.Locker.Lock, b, a, m) }()
}

//go:noinline
func plainFirst(a *sync.Mutex, b sync.Locker, m *meeting) {
	a.Lock()
	m.meet()
	b.Lock()
	a.Unlock()
}

func mixed() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { plainFirst(a, b, m) }()
	go func() { both(b, a, m) }()
}

// The second lock is three calls further down, and each layer is an interface.
type layer interface{ run(m *meeting) }

type locks struct {
	l    sync.Locker
	down layer
}

func (x *locks) run(m *meeting) {
	x.l.Lock()
	defer x.l.Unlock()
	x.down.run(m)
}

type meets struct{ down layer }

func (x *meets) run(m *meeting) { m.meet(); x.down.run(m) }

type ends struct{}

func (ends) run(*meeting) {}

func deep() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { (&locks{a, &meets{&locks{b, ends{}}}}).run(m) }()
	go func() { (&locks{b, &meets{&locks{a, ends{}}}}).run(m) }()
}

//go:noinline
func philosopher(forks *[2]sync.Mutex, i int, m *meeting) {
	var left, right sync.Locker = &forks[i], &forks[1-i]
	both(left, right, m)
}

func array() {
	var forks [2]sync.Mutex
	m := of(2)
	go func() { philosopher(&forks, 0, m) }()
	go func() { philosopher(&forks, 1, m) }()
}

//go:noinline
func closes(a, b sync.Locker, m *meeting) {
	a.Lock()
	defer func() { a.Unlock() }()
	m.meet()
	b.Lock()
	defer func() { b.Unlock() }()
}

func deferred() {
	a, b := new(sync.Mutex), new(vault)
	m := of(2)
	go func() { closes(a, b, m) }()
	go func() { closes(b, a, m) }()
}

func inlined() {
	var a, b sync.Locker = new(sync.Mutex), new(vault)
	m := of(2)
	go func() { a.Lock(); m.meet(); b.Lock(); b.Unlock(); a.Unlock() }()
	go func() { b.Lock(); m.meet(); a.Lock(); a.Unlock(); b.Unlock() }()
}

// What was locked and given back before is another one.
//
//go:noinline
func walks(a, b, c sync.Locker, m *meeting) {
	c.Lock()
	a.Lock()
	c.Unlock()
	m.meet()
	b.Lock()
	b.Unlock()
	a.Unlock()
}

func swapped() {
	a, b, c := new(sync.Mutex), new(vault), new(embeds)
	m := of(2)
	go func() { walks(a, b, c, m) }()
	go func() { walks(b, a, c, m) }()
}

package thread

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
)

// TestQueue: after random wakes, waits and ends, the queue of ready threads and the list of
// sleepers equal a model of two slices. The clock stands at 0, and the test gives expire its time.

// A queueModel is the model of the package's lists.
type queueModel struct {
	current int32
	preempt bool // one has been woken that is to run at once
	ready   []int32
	asleep  []sleeper       // soonest first
	waiting map[int32]bool  // asleep or not
	results map[int32]int64 // of the calls of those that are ready
}

type sleeper struct {
	tid      int32
	deadline uint64
}

// resumed is the panic value of a thread that goes on.
type resumed struct{ tid int32 }

func goesOn(t *Thread) { panic(resumed{t.TID}) }

// until calls f, which ends when a thread goes on, or waits for an interrupt (an instruction that a
// program may not execute). It returns the thread, or 0.
func until(f func()) (tid int32) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch v := recover().(type) {
		case resumed:
			tid = v.tid
		case runtime.Error:
			tid = 0
		default:
			panic(fmt.Sprint("neither goes on nor waits: ", v))
		}
	}()
	f()
	return -1
}

func (m *queueModel) wake(id int32, result int64, first bool) {
	delete(m.waiting, id)
	m.asleep = slices.DeleteFunc(m.asleep, func(s sleeper) bool { return s.tid == id })
	m.results[id] = result
	at := len(m.ready)
	if first {
		at, m.preempt = 0, true
	}
	m.ready = slices.Insert(m.ready, at, id)
}

// next returns the thread that runs when the running one ends or waits.
func (m *queueModel) next() int32 {
	m.current = 0
	if len(m.ready) > 0 {
		m.current, m.ready, m.preempt = m.ready[0], m.ready[1:], false
	}
	return m.current
}

// lists returns the package's queue and sleepers.
func lists() (ready []int32, asleep []sleeper) {
	for t := Get(runHead); t != nil; t = Get(t.next) {
		ready = append(ready, t.TID)
	}
	for t := Get(sleepHead); t != nil; t = Get(t.next) {
		asleep = append(asleep, sleeper{t.TID, t.deadline})
	}
	return ready, asleep
}

func TestQueue(t *testing.T) {
	room, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(room)))
	mem.AddFrames(lo, lo+uintptr(len(room)))
	OnResume(goesOn)
	for seed := range uint64(20) {
		walkQueue(t, seed)
	}
}

func walkQueue(t *testing.T, seed uint64) {
	percputest.Use(t)
	r := rand.New(rand.NewPCG(1, seed))
	m := &queueModel{waiting: map[int32]bool{}, results: map[int32]int64{}}
	var now uint64
	var f arch.TrapFrame
	check := func(what string, got, want int32) {
		t.Helper()
		ready, asleep := lists()
		tail := int32(0)
		if len(m.ready) > 0 {
			tail = m.ready[len(m.ready)-1]
		}
		if got != want || percpu.This().Thread != m.current || !slices.Equal(ready, m.ready) || !slices.Equal(asleep, m.asleep) || len(ready) > 0 && runTail != tail {
			t.Fatalf("seed %d: %s: %d runs, current %d, ready %v to %d, asleep %v; want %d, %d, %v to %d, %v",
				seed, what, got, percpu.This().Thread, ready, runTail, asleep, want, m.current, m.ready, tail, m.asleep)
		}
		if percpu.This().Preempt != m.preempt {
			t.Fatalf("seed %d: %s: preempting: %v; want %v", seed, what, percpu.This().Preempt, m.preempt)
		}
		if c := Current(); got > 0 && (c == nil || c.State != Running || int64(c.Frame.Result()) != m.results[got]) {
			t.Fatalf("seed %d: %s: %d goes on as %v with %d; want %d", seed, what, got, c.State, int64(c.Frame.Result()), m.results[got])
		}
		for _, id := range ready {
			if th := Get(id); th.State != Ready || th.Why != ForNothing || th.sleeps {
				t.Fatalf("seed %d: %s: %d is in the queue, but %v for %v", seed, what, id, th.State, th.Why)
			}
		}
		for id := range m.waiting {
			if th := Get(id); th.State != Waiting {
				t.Fatalf("seed %d: %s: %d is %v; want it to wait", seed, what, id, th.State)
			}
		}
	}
	add := func() {
		if th := New(); th != nil {
			th.Frame.SetResult(0)
			Enqueue(th)
			m.results[th.TID] = 0
			m.ready = append(m.ready, th.TID)
		}
	}
	for range 3 {
		add()
	}
	check("begin", until(Run), m.next())
	for step := range 4000 {
		what := fmt.Sprint("step ", step, ": ")
		if m.current == 0 && len(m.ready) > 0 { // an interrupt has made one ready
			check(what+"wakes up", until(Run), m.next())
			continue
		}
		switch op := r.IntN(12); {
		case op < 3 && m.current != 0:
			deadline := uint64(never)
			if r.IntN(2) == 0 {
				deadline = now + 1 + r.Uint64N(20)
				at, _ := slices.BinarySearchFunc(m.asleep, deadline, func(s sleeper, d uint64) int {
					if s.deadline <= d {
						return -1
					}
					return 1
				})
				m.asleep = slices.Insert(m.asleep, at, sleeper{m.current, deadline})
			}
			m.waiting[m.current] = true
			why := []Why{ForFutex, ForTime, ForEpoll, ForFile, ForSignal}[r.IntN(5)]
			f.Error = 77
			got := until(func() { Block(&f, why, 1, deadline, -int64(deadline)) })
			check(what+"waits", got, m.next())
		case op == 3 && m.current != 0:
			f.SetResult(5)
			if len(m.ready) == 0 {
				check(what+"yields to nobody", until(func() { Yield(&f); goesOn(Current()) }), m.current)
				m.results[m.current] = int64(Current().Frame.Result())
				continue
			}
			m.results[m.current] = 5
			m.ready = append(m.ready, m.current)
			check(what+"yields", until(func() { Yield(&f) }), m.next())
		case op == 4 && m.current != 0:
			// A thread that was woken to run at once runs before the current one, but no other
			// does.
			first := m.preempt
			at := len(m.ready)
			if first {
				at = min(1, at)
			}
			m.ready = slices.Insert(m.ready, at, m.current)
			check(what+"gives way", until(func() { GiveWay(Current()) }), m.next())
		case op == 5 && m.current != 0:
			check(what+"ends", until(func() { End(Current()); Run() }), m.next())
		case op == 6 && len(m.ready)+len(m.waiting) < 12:
			add()
			check(what+"begins", m.current, m.current)
		case op == 7 || m.current == 0 && len(m.waiting) == len(m.asleep):
			now += r.Uint64N(30)
			for n := 0; len(m.asleep) > 0 && m.asleep[0].deadline <= now; n++ {
				m.wake(m.asleep[0].tid, -int64(m.asleep[0].deadline), true)
				id := m.ready[0] // after those whose time has come earlier
				m.ready = slices.Insert(slices.Delete(m.ready, 0, 1), n, id)
			}
			want := uint64(never)
			if len(m.asleep) > 0 {
				want = m.asleep[0].deadline
			}
			if next := expire(now); next != want {
				t.Fatalf("seed %d: %snext timer at %d; want %d", seed, what, next, want)
			}
			check(what+"time", m.current, m.current)
			if len(m.waiting)+len(m.ready) == 0 && m.current == 0 {
				add()
			}
		default:
			for id := range int32(14) { // the first that waits, from a random one on
				id = (id+int32(step))%14 + 1
				if !m.waiting[id] {
					continue
				}
				result := r.Int64N(100)
				switch th := Get(id); r.IntN(3) {
				case 0:
					Wake(th, result)
					m.wake(id, result, false)
				case 1:
					WakeNow(th, result)
					m.wake(id, result, true)
				default:
					Retry(th)
					if !th.Retried || th.Frame.Result() != 77 {
						t.Fatalf("seed %d: %s%d does not make its call again", seed, what, id)
					}
					m.wake(id, 77, true)
				}
				break
			}
			check(what+"woken", m.current, m.current)
		}
	}
	// The next seed begins with nobody.
	for id := range int32(MaxThreads) {
		if th := Get(id + 1); th != nil {
			unsleep(th)
			runHead, runTail, percpu.This().Thread = 0, 0, 0
			End(th)
		}
	}
}

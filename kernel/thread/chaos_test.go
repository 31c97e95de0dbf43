package thread

import (
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/percpu/percputest"
)

// orderly restores the order for the other tests' threads.
func orderly() { random, chaos, spreads, drawn = 0, false, 0, 0 }

// TestChaosTimes: slices, delays and what they are when there is no option.
func TestChaosTimes(t *testing.T) {
	percputest.Use(t)
	t.Cleanup(orderly)
	for range 3 {
		if s, l := sliceLength(), late(); s != slice || l != 0 {
			t.Fatalf("without an option a slice is %d ns, a sleeper %d ns late", s, l)
		}
	}
	for seed := range uint64(20) {
		Jitter(seed)
		if random == 0 {
			t.Fatalf("seed %d: the generator stands still", seed)
		}
		for range 1000 {
			if s, l := sliceLength(), late(); s < slice || s >= slice+jitterMost || l >= jitterMost {
				t.Fatalf("seed %d: with jitter a slice is %d ns, a sleeper %d ns late", seed, s, l)
			}
		}
		Chaos(seed)
		short, long := 0, 0
		for range 4000 {
			s, l := sliceLength(), late()
			if s < shortestSlice || s > shortestSlice+1<<20 || l > 128_000 {
				t.Fatalf("seed %d: in chaos a slice is %d ns, a sleeper %d ns late", seed, s, l)
			}
			if s < 2*shortestSlice {
				short++
			}
			if s > 50*shortestSlice {
				long++
			}
		}
		if short < 400 || long < 40 {
			t.Errorf("seed %d: of 4000 slices %d are short, %d long", seed, short, long)
		}
		orderly()
	}
	if got := later(never - 1); got != never-1 {
		t.Errorf("a time that is never reached is %d", got)
	}
}

// TestChaosOrder: the same seed gives the same order, another seed another one; no thread is
// forgotten, and the queue stays whole.
func TestChaosOrder(t *testing.T) {
	room, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(room)))
	mem.AddFrames(lo, lo+uintptr(len(room)))
	OnResume(goesOn)
	percputest.Use(t)
	t.Cleanup(orderly)

	const threads, turns = 6, 400
	walk := func(seed uint64) (order []int) {
		Chaos(seed)
		defer orderly()
		var all []int32
		for range threads {
			th := New()
			if th == nil {
				t.Fatal("no room for a thread")
			}
			all = append(all, th.TID)
			Enqueue(th)
		}
		var f arch.TrapFrame
		now := until(Run)
		for turn := range turns {
			order = append(order, slices.Index(all, now))
			if turn%3 == 0 {
				now = until(func() { Yield(&f) })
			} else {
				percpu.This().Preempt = false // its time is over
				now = until(func() { GiveWay(Current()) })
			}
			ready, _ := lists()
			if len(ready) != threads-1 || runTail != ready[len(ready)-1] || slices.Contains(ready, now) || Current().TID != now {
				t.Fatalf("seed %d: turn %d: %d runs, and %v to %d are ready", seed, turn, now, ready, runTail)
			}
		}
		for i := range threads {
			if !slices.Contains(order, i) {
				t.Errorf("seed %d: thread %d has never had a turn", seed, i)
			}
		}
		for Current() != nil {
			until(func() { End(Current()); Run() })
		}
		return order
	}
	first, again, other := walk(1), walk(1), walk(2)
	if !slices.Equal(first, again) {
		t.Errorf("the same seed has other orders:\n%v\n%v", first, again)
	}
	if slices.Equal(first, other) {
		t.Errorf("two seeds have the same order: %v", first)
	}
}

// TestChaosWake: a woken thread runs at once now and then, but not always; without chaos it never
// does.
func TestChaosWake(t *testing.T) {
	r := percputest.Use(t)
	t.Cleanup(orderly)
	count := func() (n int) {
		for range 400 {
			r.Preempt = false
			if perhapsFirst(); r.Preempt {
				n++
			}
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("without chaos %d of 400 run at once", n)
	}
	Jitter(5)
	if n := count(); n != 0 {
		t.Errorf("with jitter %d of 400 run at once", n)
	}
	Chaos(5)
	if n := count(); n < 60 || n > 140 {
		t.Errorf("in chaos %d of 400 run at once; want one in %d", n, wokenOneIn)
	}
}

package thread

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Rare races need a switch of threads at one certain instruction. With [Chaos], threads get the CPU
// in random order, for times of any length, and now and then one is kept from it for long; with
// [Jitter] only the timers are late, as on a busy host. All of it comes from one generator: where
// time counts instructions, the same seed gives the same run.

const (
	// shortestSlice leaves a thread some time of its own after the switch to it.
	shortestSlice = 2_000 // ns
	// spreadUnit is the shortest range that times are drawn from, in ns; each further range is
	// twice as long.
	spreadUnit = 1_000
	// The number of ranges that slices are drawn from; the longest has 8 us to 256 us. The number
	// changes every spreadFor slices, because some races need many switches and others long slices.
	leastSpreads, mostSpreads = 4, 9
	spreadFor                 = 256
	// One slice in so many may have up to 1 ms, so that a slow machine does more than switch.
	longOneIn, longSpreads = 16, 11

	heldOneIn   = 3     // one thread in so many whose time is over is kept from the CPU
	heldSpreads = 13    // for 4 ms at most
	heldLeast   = 1_000 // the others are just not the next, in ns
	lateSpreads = 8     // how late a sleeper wakes: at most 128 us
	wokenOneIn  = 4     // one thread in so many that another one wakes may run at once

	// jitterMost is how late timers are with Jitter, in ns.
	jitterMost = 100_000
)

var (
	random  uint64 // the generator's state, 0: off; set once at boot, then under the kernel lock
	chaos   bool   // set once at boot
	spreads uint64 // the number of ranges that slices are drawn from now; under the kernel lock
	drawn   uint32 // number of slices drawn; under the kernel lock
)

// Chaos makes threads change places at random. Early context, before there is a thread.
func Chaos(seed uint64) {
	Jitter(seed)
	chaos = true
}

// Jitter makes timers interrupt late, at random. Early context, before there is a thread.
func Jitter(seed uint64) {
	// Consecutive seeds must begin at unrelated places of the generator.
	x := (seed + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	if random = x ^ x>>31; random == 0 {
		random = 1
	}
}

// draw returns a random number below n, which must be small.
func draw(n uint64) uint64 {
	percpu.AssertLocked()
	random ^= random >> 12
	random ^= random << 25
	random ^= random >> 27
	return random * 0x2545f4914f6cdd1d >> 20 % n
}

// drawTime returns a random time in ns, from one of that many ranges.
func drawTime(ranges uint64) uint64 { return draw(spreadUnit << draw(ranges)) }

// sliceLength returns how long the thread that gets the CPU now may have it, in ns.
func sliceLength() uint64 {
	switch {
	case random == 0:
		return slice
	case !chaos:
		return slice + draw(jitterMost)
	case drawn%spreadFor == 0:
		spreads = leastSpreads + draw(mostSpreads-leastSpreads+1)
	}
	drawn++
	if draw(longOneIn) == 0 {
		return shortestSlice + drawTime(longSpreads)
	}
	return shortestSlice + drawTime(spreads)
}

// late returns how much later than requested a thread wakes, in ns.
func late() uint64 {
	switch {
	case random == 0:
		return 0
	case chaos:
		return drawTime(lateSpreads)
	}
	return draw(jitterMost)
}

// later adds a delay to the time until which a thread wants to sleep.
func later(deadline uint64) uint64 {
	if by := late(); deadline < never-by {
		return deadline + by
	}
	return deadline
}

// perhapsFirst runs when the running thread has woken another one: in chaos, the running one may
// have to give way at once.
func perhapsFirst() {
	if chaos && draw(wokenOneIn) == 0 {
		percpu.This().Preempt = true
	}
}

// hold runs when the running thread's time is over: in chaos, another thread is the next, if there
// is one, and this one may be kept from the CPU for longer.
func (t *Thread) hold(now uint64) {
	if !chaos {
		return
	}
	t.held = now + heldLeast
	if draw(heldOneIn) == 0 {
		t.held += drawTime(heldSpreads)
	}
}

// anyFor returns any thread in the queue that may run on a CPU, or nil; it returns one that is kept
// from the CPU only if there is no other.
func anyFor(r *percpu.Record) (t *Thread) {
	now := clock.Now()
	held, free := uint64(0), uint64(0)
	var lastHope *Thread
	for o := Get(runHead); o != nil; o = Get(o.next) {
		switch {
		case !o.mayRunOn(r):
		case o.held > now:
			if held++; draw(held) == 0 {
				lastHope = o
			}
		default:
			if free++; draw(free) == 0 {
				t = o
			}
		}
	}
	if t == nil {
		t = lastHope
	}
	return t
}

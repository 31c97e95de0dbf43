package thread

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Threads that wait until a time, and the timer that ends the wait. The timer is set for the next
// event, not for a tick: it is quiet while one thread runs alone.

// sleep puts a waiting thread into the list of sleepers.
func sleep(t *Thread, deadline uint64, timeout int64) {
	percpu.AssertLocked()
	deadline = later(deadline)
	t.deadline, t.timeout, t.sleeps = deadline, timeout, true
	if first := Get(sleepHead); first == nil || deadline < first.deadline {
		t.next = sleepHead
		sleepHead = t.TID
		armBy(percpu.This(), deadline)
		return
	}
	p := Get(sleepHead)
	for {
		n := Get(p.next)
		if n == nil || deadline < n.deadline {
			t.next = p.next
			p.next = t.TID
			return
		}
		p = n
	}
}

// unsleep removes a thread that no longer waits from the list of sleepers, if it is there.
func unsleep(t *Thread) {
	percpu.AssertLocked()
	if onEvent != 0 && t.State == Waiting {
		callOnEvent(Woken, t, never)
	}
	if !t.sleeps {
		return
	}
	t.sleeps = false
	if sleepHead == t.TID {
		sleepHead = t.next
		return
	}
	for p := Get(sleepHead); p != nil; p = Get(p.next) {
		if p.next == t.TID {
			p.next = t.next
			return
		}
	}
}

// armBy makes sure that the timer fires at that time or before.
func armBy(r *percpu.Record, deadline uint64) {
	if deadline < r.Event {
		r.Event = deadline
		clock.Arm(&r.Shot, deadline)
	}
}

// expire wakes the sleepers whose time has come, and returns the time of the next event.
func expire(now uint64) (next uint64) {
	percpu.AssertLocked()
	woken := (*Thread)(nil) // the last one
	for {
		t := Get(sleepHead)
		if t == nil {
			next = never
			break
		}
		if t.deadline > now {
			next = t.deadline
			break
		}
		WakeNow(t, t.timeout)
		if woken != nil {
			// After those whose time came before.
			runHead, t.next, woken.next = t.next, woken.next, t.TID
			if runTail == woken.TID {
				runTail = t.TID
			}
		}
		woken = t
	}
	return min(next, callTick(now))
}

func callTick(now uint64) (next uint64) {
	if onTick == 0 {
		return never
	}
	return arch.FuncAt[func(uint64) uint64](&onTick)(now)
}

// Tick handles the timer's interrupt, and one by which another CPU makes this one look for changes.
func Tick() {
	r := percpu.This()
	r.Shot = clock.Never // it may have been early, and is then set again
	now := clock.Now()
	next := expire(now)
	if r.Thread != 0 && AnyReady() {
		if now >= r.SliceEnd {
			r.Preempt = true
		} else {
			next = min(next, r.SliceEnd)
		}
	}
	r.Event = next
	clock.Arm(&r.Shot, next)
}

// Nudge makes the timer fire soon, because the result of OnTick's function has changed.
func Nudge() { armBy(percpu.This(), clock.Now()) }

package sched

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/resource"
)

// Waits that package resource logs: for a futex, and sleeps. Who ends a wait is who closes
// it: the thread that wakes, or nobody, in the timer's interrupt.

// logWait logs that the running thread waits from now on.
func logWait(t *Thread, deadline uint64) {
	switch t.Why {
	case ForFutex:
		resource.LogWait(resource.Open, resource.Futexes, t.Key, 0, t.TID)
	case ForTime:
		left := uint64(0)
		if now := clock.Now(); deadline > now {
			left = deadline - now
		}
		resource.Log(resource.Open, resource.Timers, resource.TimerSleep+uintptr(t.TID), uintptr(left))
	}
}

// logWoken logs that a thread waits no more.
func logWoken(t *Thread) {
	switch {
	case t.State != Waiting:
	case t.Why == ForFutex:
		resource.LogWait(resource.Close, resource.Futexes, t.Key, 0, t.TID)
	case t.Why == ForTime:
		resource.Log(resource.Close, resource.Timers, resource.TimerSleep+uintptr(t.TID), 0)
	}
}

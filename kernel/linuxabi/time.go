package linuxabi

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/resource"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// Clocks, sleeps and interval timers.

const (
	clockRealtime   = 0
	clockProcessCPU = 2
	clockThreadCPU  = 3
	clockMax        = 11
	timerAbsolute   = 1

	itimerReal    = 0
	itimerVirtual = 1
	itimerProf    = 2
)

// now returns a clock's time in ns.
func now(id uintptr) (ns uint64, ok bool) {
	switch id {
	case clockRealtime, 5, 8, clockMax: // coarse, alarm, TAI
		return uint64(clock.Wall()), true
	case clockProcessCPU:
		return sched.CPUTime(), true
	case clockThreadCPU:
		return sched.ThreadTime(), true
	case 1, 4, 6, 7, 9:
		return clock.Now(), true
	}
	return 0, false
}

func (c *call) clockGettime() int64 {
	ns, ok := now(c.a)
	if !ok {
		return -eINVAL
	}
	return outTimespec(c.b, ns)
}

func (c *call) clockGetres() int64 {
	if _, ok := now(c.a); !ok {
		return -eINVAL
	}
	if c.b == 0 {
		return 0
	}
	return outTimespec(c.b, 1)
}

func (c *call) clockSettime() int64 {
	ns, e := inTimespec(c.b)
	if e != 0 {
		return e
	}
	if c.a != clockRealtime {
		return -eINVAL
	}
	clock.SetWall(int64(ns))
	return 0
}

func (c *call) gettimeofday() int64 {
	if c.b != 0 && !zeroOut(c.b, 8) { // the time zone
		return -eFAULT
	}
	if c.a == 0 {
		return 0
	}
	ns := uint64(clock.Wall())
	if !out64(c.a, ns/1e9) || !out64(c.a+8, ns%1e9/1000) {
		return -eFAULT
	}
	return 0
}

func (c *call) time() int64 {
	s := uint64(clock.Wall()) / 1e9
	if c.a != 0 && !out64(c.a, s) {
		return -eFAULT
	}
	return int64(s)
}

func (c *call) nanosleep() int64 { return c.sleepFor(c.a, clock.Now()) }

func (c *call) clockNanosleep() int64 {
	switch {
	case c.b&timerAbsolute == 0:
		return c.sleepFor(c.c, clock.Now())
	case c.a == clockRealtime:
		ns, e := inTimespec(c.c)
		if e != 0 {
			return e
		}
		c.sleepUntil(sinceBoot(int64(ns)))
	}
	return c.sleepFor(c.c, 0)
}

func (c *call) sleepFor(timespec uintptr, from uint64) int64 {
	ns, e := inTimespec(timespec)
	if e != 0 {
		return e
	}
	c.sleepUntil(from + ns)
	return 0
}

func (c *call) sleepUntil(deadline uint64) {
	if deadline > clock.Now() {
		sched.Block(c.f, sched.ForTime, 0, deadline, 0)
	}
}

// itimers are the three interval timers of setitimer(2): real time, and the
// program's own running time, for which no difference is made between user code and
// kernel.
var itimers [3]struct {
	next, interval uint64 // ns of clock.Now, or of sched.CPUTime; next 0: off
}

var itimerSignals = [3]uint8{sigALRM, sigVTALRM, sigPROF}

// Tick sends the signals of the interval timers that have run out, and returns when the
// next one may do so, or ^0. Kernel context.
func Tick(now uint64) (next uint64) {
	next = pollCard(now)
	if timersArmed > 0 {
		next = min(next, tickTimers(now))
	}
	for i := range itimers {
		t := &itimers[i]
		if t.next == 0 {
			continue
		}
		at := now
		if i != itimerReal {
			if sched.Current() == nil {
				continue // no time passes while nothing runs
			}
			at = sched.CPUTime()
		}
		if at >= t.next {
			sendTimer(nil, int(itimerSignals[i]), false)
			if t.interval == 0 {
				t.next = 0
				logTimer(resource.Close, uintptr(i), 0)
				continue
			}
			t.next += ((at-t.next)/t.interval + 1) * t.interval
		}
		next = min(next, now+(t.next-at))
	}
	return next
}

func (c *call) setitimer() int64 {
	if c.a > itimerProf {
		return -eINVAL
	}
	var v [4]uint64 // interval: s, us; value: s, us
	for i := range v {
		if c.b == 0 {
			break
		}
		var ok bool
		if v[i], ok = in64(c.b + uintptr(i)*8); !ok {
			return -eFAULT
		}
		if v[i] > 1<<33 || i%2 == 1 && v[i] >= 1e6 {
			return -eINVAL
		}
	}
	if e := c.getitimerTo(c.c); e != 0 {
		return e
	}
	t := &itimers[c.a]
	value := v[2]*1e9 + v[3]*1000
	if t.next != 0 {
		logTimer(resource.Close, c.a, 0)
	}
	t.interval, t.next = v[0]*1e9+v[1]*1000, 0
	if value != 0 {
		logTimer(resource.Open, c.a, value)
		t.next = c.itimerNow() + value
		sched.Nudge()
	}
	return 0
}

// logTimer logs that a timer has been set, for so many ns, or is set no more.
func logTimer(e resource.Event, timer uintptr, ns uint64) {
	if resource.Logs(resource.Timers) {
		resource.Log(e, resource.Timers, timer, uintptr(ns))
	}
}

func (c *call) itimerNow() uint64 {
	if c.a == itimerReal {
		return clock.Now()
	}
	return sched.CPUTime()
}

func (c *call) getitimer() int64 {
	if c.a > itimerProf {
		return -eINVAL
	}
	if c.b == 0 {
		return -eFAULT
	}
	return c.getitimerTo(c.b)
}

func (c *call) getitimerTo(a uintptr) int64 {
	if a == 0 {
		return 0
	}
	t := &itimers[c.a]
	left := uint64(0)
	if at := c.itimerNow(); t.next > at {
		left = t.next - at
	}
	if !out64(a, t.interval/1e9) || !out64(a+8, t.interval%1e9/1000) ||
		!out64(a+16, left/1e9) || !out64(a+24, left%1e9/1000) {
		return -eFAULT
	}
	return 0
}

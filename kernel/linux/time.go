package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Clocks, sleeps and interval timers.

const (
	clockRealtime   = 0
	clockMonotonic  = 1
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
		return thread.CPUTime(), true
	case clockThreadCPU:
		return thread.ThreadTime(), true
	case 1, 4, 6, 7, 9:
		return clock.Now(), true
	}
	return 0, false
}

func (c *call) clockGettime() int64 {
	ns, ok := now(c.args[0].Op())
	if !ok {
		return -eINVAL
	}
	return outTimespec(c.args[1].Pointer(), ns)
}

func (c *call) clockGetres() int64 {
	if _, ok := now(c.args[0].Op()); !ok {
		return -eINVAL
	}
	if c.args[1] == 0 {
		return 0
	}
	return outTimespec(c.args[1].Pointer(), 1)
}

func (c *call) clockSettime() int64 {
	ns, e := inTimespec(c.args[1].Pointer())
	if e != 0 {
		return e
	}
	if c.args[0].Op() != clockRealtime {
		return -eINVAL
	}
	clock.SetWall(int64(ns))
	cancelTimers()
	thread.Nudge()
	return 0
}

func (c *call) gettimeofday() int64 {
	if c.args[1] != 0 && !zeroOut(c.args[1].Pointer(), 8) { // the time zone
		return -eFAULT
	}
	if c.args[0] == 0 {
		return 0
	}
	ns := uint64(clock.Wall())
	return copied(out64(c.args[0].Pointer(), ns/1e9) && out64(c.args[0].Pointer()+8, ns%1e9/1000))
}

func (c *call) time() int64 {
	s := uint64(clock.Wall()) / 1e9
	if c.args[0] != 0 && !out64(c.args[0].Pointer(), s) {
		return -eFAULT
	}
	return int64(s)
}

func (c *call) nanosleep() int64 { return c.sleep(1, false, c.args[0].Pointer(), c.args[1].Pointer()) }

func (c *call) clockNanosleep() int64 {
	switch c.args[0].Op() {
	case clockRealtime, 1, 7, 8, 9, clockMax:
		return c.sleep(c.args[0].Op(), c.args[1].Flags()&timerAbsolute != 0, c.args[2].Pointer(), c.args[3].Pointer())
	case clockProcessCPU, clockThreadCPU, 4, 5, 6: // Linux can sleep by the first of them only
		return -eOPNOTSUPP
	}
	return -eINVAL
}

// sleep waits until a time of a clock, or for a while. How much of that is left when a
// signal ends it is written to left, if that is not 0.
func (c *call) sleep(id uintptr, absolute bool, timespec, left uintptr) int64 {
	t := thread.Current()
	if !c.again {
		ns, e := inTimespec(timespec)
		switch now, _ := now(id); {
		case e != 0:
			return e
		case !absolute:
			t.Until, t.Left = clock.Now()+ns, left
		default:
			t.Until, t.Left = clock.Now(), 0
			if ns > now {
				t.Until += ns - now
			}
		}
	}
	if t.Until > clock.Now() {
		thread.Block(c.f, thread.ForTime, 0, t.Until, 0)
	}
	return 0
}

// itimers are the three interval timers of setitimer(2): real time, and the
// program's own running time, for which no difference is made between user code and
// kernel. Under the kernel lock.
var itimers [3]struct {
	next, interval uint64 // ns of clock.Now, or of thread.CPUTime; next 0: off
}

var itimerSignals = [3]uint8{sigALRM, sigVTALRM, sigPROF} // never written

// Tick sends the signals of the interval timers that have run out, and returns when the
// next one may do so, or ^0. Kernel context.
func Tick(now uint64) (next uint64) {
	percpu.AssertLocked()
	next = min(pollCard(now), pollShares(now))
	if timersArmed > 0 {
		next = min(next, tickTimers(now))
	}
	if limits[limitCPU].soft != unlimited && thread.Current() != nil {
		next = min(next, tickCPU(now))
	}
	for i := range itimers {
		t := &itimers[i]
		if t.next == 0 {
			continue
		}
		at := now
		if i != itimerReal {
			if thread.Current() == nil {
				continue // no time passes while nothing runs
			}
			at = thread.CPUTime()
		}
		if at >= t.next {
			sendTimer(nil, int(itimerSignals[i]), false)
			if t.interval == 0 {
				t.next = 0
				logTimer(handle.Close, uintptr(i), 0)
				continue
			}
			t.next += ((at-t.next)/t.interval + 1) * t.interval
		}
		next = min(next, now+(t.next-at))
	}
	return next
}

func (c *call) setitimer() int64 {
	if c.args[0].Op() > itimerProf {
		return -eINVAL
	}
	var v [4]uint64 // interval: s, us; value: s, us
	for i := range v {
		if c.args[1] == 0 {
			break
		}
		var ok bool
		if v[i], ok = in64(c.args[1].Pointer() + uintptr(i)*8); !ok {
			return -eFAULT
		}
		if v[i] > 1<<33 || i%2 == 1 && v[i] >= 1e6 {
			return -eINVAL
		}
	}
	if e := c.getitimerTo(c.args[2].Pointer()); e != 0 {
		return e
	}
	t := &itimers[c.args[0].Op()]
	value := v[2]*1e9 + v[3]*1000
	if t.next != 0 {
		logTimer(handle.Close, c.args[0].Op(), 0)
	}
	t.interval, t.next = v[0]*1e9+v[1]*1000, 0
	if value != 0 {
		logTimer(handle.Open, c.args[0].Op(), value)
		t.next = c.itimerNow() + value
		thread.Nudge()
	}
	return 0
}

// logTimer logs that a timer has been set, for so many ns, or is set no more.
func logTimer(e handle.Event, timer uintptr, ns uint64) {
	if handle.Logs(handle.Timers) {
		handle.Log(e, handle.Timers, timer, uintptr(ns))
	}
}

func (c *call) itimerNow() uint64 {
	if c.args[0].Op() == itimerReal {
		return clock.Now()
	}
	return thread.CPUTime()
}

func (c *call) getitimer() int64 {
	if c.args[0].Op() > itimerProf {
		return -eINVAL
	}
	if c.args[1] == 0 {
		return -eFAULT
	}
	return c.getitimerTo(c.args[1].Pointer())
}

func (c *call) getitimerTo(a uintptr) int64 {
	if a == 0 {
		return 0
	}
	t := &itimers[c.args[0].Op()]
	left := uint64(0)
	if at := c.itimerNow(); t.next > at {
		left = t.next - at
	}
	return copied(out64(a, t.interval/1e9) && out64(a+8, t.interval%1e9/1000) &&
		out64(a+16, left/1e9) && out64(a+24, left%1e9/1000))
}

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

	itimerReal = 0
	itimerProf = 2
)

// now returns the time of a clock in ns.
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

func sysClockGettime(c *call) int64 {
	ns, ok := now(c.op(0))
	if !ok {
		return -eINVAL
	}
	return outTimespec(c.pointer(1), ns)
}

func sysClockGetres(c *call) int64 {
	if _, ok := now(c.op(0)); !ok {
		return -eINVAL
	}
	if c.args[1] == 0 {
		return 0
	}
	return outTimespec(c.pointer(1), 1)
}

func sysClockSettime(c *call) int64 {
	ns, e := inTimespec(c.pointer(1))
	if e != 0 {
		return e
	}
	if c.op(0) != clockRealtime {
		return -eINVAL
	}
	clock.SetWall(int64(ns))
	cancelTimers()
	thread.Nudge()
	return 0
}

func sysGettimeofday(c *call) int64 {
	if c.args[1] != 0 && !zeroOut(c.pointer(1), 8) { // the time zone
		return -eFAULT
	}
	if c.args[0] == 0 {
		return 0
	}
	ns := uint64(clock.Wall())
	return copied(out64(c.pointer(0), ns/1e9) && out64(c.pointer(0)+8, ns%1e9/1000))
}

func sysTime(c *call) int64 {
	s := uint64(clock.Wall()) / 1e9
	if c.args[0] != 0 && !out64(c.pointer(0), s) {
		return -eFAULT
	}
	return int64(s)
}

func sysClockNanosleep(c *call) int64 {
	switch c.op(0) {
	case clockRealtime, 1, 7, 8, 9, clockMax:
		return c.sleep(c.op(0), c.flags(1)&timerAbsolute != 0, c.pointer(2), c.pointer(3))
	case clockProcessCPU, clockThreadCPU, 4, 5, 6: // Linux can sleep only by the first of them
		return -eOPNOTSUPP
	}
	return -eINVAL
}

// sleep waits until a time of a clock, or for a duration. If a signal ends the sleep, the time left
// is written to left, if that is not 0.
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

// itimerSignals are the signals of the three interval timers of setitimer(2), which are the last of
// timers: of real time, and of the program's running time, without distinguishing user code and
// kernel. Never written.
var itimerSignals = [3]uint8{sigALRM, sigVTALRM, sigPROF}

// Tick sends the signals of the timers that have expired, and returns when the next one may expire,
// or ^0. Kernel context.
func Tick(now uint64) (next uint64) {
	percpu.AssertLocked()
	next = min(pollCard(now), pollShares(now))
	if timersArmed > 0 {
		next = min(next, tickTimers(now))
	}
	if limits[limitCPU].soft != unlimited && thread.Current() != nil {
		next = min(next, tickCPU(now))
	}
	return next
}

func sysSetitimer(c *call) int64 {
	if c.op(0) > itimerProf {
		return -eINVAL
	}
	var v [4]uint64 // interval: s, us; value: s, us
	if c.args[1] != 0 && !load(&v, c.pointer(1)) {
		return -eFAULT
	}
	for i := range v {
		if v[i] > 1<<33 || i%2 == 1 && v[i] >= 1e6 {
			return -eINVAL
		}
	}
	if e := c.getitimerTo(c.pointer(2)); e != 0 {
		return e
	}
	t := c.itimer()
	t.signal, t.ofKernel, t.clock = itimerSignals[c.op(0)], true, clockProcessCPU
	if c.op(0) == itimerReal {
		t.clock = clockMonotonic
	}
	t.start(v[0]*1e9+v[1]*1000, v[2]*1e9+v[3]*1000, false)
	return 0
}

func (c *call) itimer() *timer { return &timers[maxTimers+c.op(0)] }

// logTimer logs that a timer was set, to expire in that many ns, or that it was stopped.
func logTimer(e handle.Event, timer uintptr, ns uint64) {
	if handle.Logs(handle.Timers) {
		handle.Log(e, handle.Timers, timer, uintptr(ns))
	}
}

func sysGetitimer(c *call) int64 {
	if c.op(0) > itimerProf {
		return -eINVAL
	}
	if c.args[1] == 0 {
		return -eFAULT
	}
	return c.getitimerTo(c.pointer(1))
}

func (c *call) getitimerTo(a uintptr) int64 {
	if a == 0 {
		return 0
	}
	t, left := c.itimer(), uint64(0)
	if at, _ := t.now(); t.next > at {
		left = t.next - at
	}
	return copied(store(a, &[4]uint64{t.interval / 1e9, t.interval % 1e9 / 1000, left / 1e9,
		left % 1e9 / 1000}))
}

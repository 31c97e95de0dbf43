package linux

import (
	"github.com/zeroframe/zeroframe/arch"
)

// Timers that a descriptor counts (timerfd_create(2)). A timer that has expired stands still until
// somebody reads it. It then says how often it would have expired since, so that nobody is woken
// for an interval that nobody waits for.

const timerCancelOnSet = 2

func sysTimerfdCreate(c *call) int64 {
	const clockReal, clockMono, clockBoot, clockRealAlarm, clockBootAlarm = 0, 1, 7, 8, 9
	flags := c.flags(1)
	if flags&^(oNonblock|oCloexec) != 0 {
		return -eINVAL
	}
	switch c.op(0) {
	case clockReal, clockMono, clockBoot, clockRealAlarm, clockBootAlarm:
	default:
		return -eINVAL
	}
	id := freeTimer()
	if id == maxTimers {
		return -eNFILE
	}
	fd := open(file{kind: timerFile, flags: flags&oNonblock | oRdwr, obj: int32(id)}, flags)
	if fd >= 0 {
		timers[id] = timer{used: true, clock: uint8(c.op(0)), file: int32(fds[fd])}
	}
	return fd
}

// timerOf returns the timer of an open file, or nil.
func timerOf(f *file) *timer {
	if f.kind != timerFile {
		return nil
	}
	return &timers[f.obj]
}

func sysTimerfdSettime(c *call) int64 {
	flags := c.flags(1)
	interval, value, e := inTimerspec(c.pointer(2))
	if e != 0 {
		return e
	}
	if flags&^(timerAbsolute|timerCancelOnSet) != 0 {
		return -eINVAL
	}
	f := usable(c.fd(0))
	if f == nil {
		return -eBADF
	}
	t := timerOf(f)
	if t == nil {
		return -eINVAL
	}
	t.forward()
	old := *t
	t.expired, t.ticks, t.canceled = false, 0, false
	t.cancels = t.isWall() && flags == timerAbsolute|timerCancelOnSet
	t.start(interval, value, flags&timerAbsolute != 0)
	if at, _ := t.now(); t.next != 0 && t.next <= at {
		t.expire()
	}
	if c.args[3] != 0 {
		t := (*timer)(arch.Pointer(addressOf(&old)))
		return t.outSpec(c.pointer(3))
	}
	return 0
}

func sysTimerfdGettime(c *call, f *file) int64 {
	t := timerOf(f)
	if t == nil {
		return -eINVAL
	}
	t.forward()
	return t.outSpec(c.pointer(1))
}

// outSpec is out for a timer that stands still after it has expired: no time is left then.
func (t *timer) outSpec(a uintptr) int64 {
	if at, _ := t.now(); t.next <= at {
		if e := outTimespec(a, t.interval); e != 0 {
			return e
		}
		return outTimespec(a+timespecSize, 0)
	}
	return t.out(a)
}

// isWall reports whether the timer follows the wall clock.
func (t *timer) isWall() bool { return t.clock == clockRealtime || t.clock == 8 }

// expire handles the expiration of a timer.
func (t *timer) expire() {
	t.expired = true
	t.ticks++
	if t.interval == 0 {
		t.set(0)
	}
	changed(int(t.file - 1))
}

// forward restarts a timer that stands still.
func (t *timer) forward() {
	if !t.expired || t.interval == 0 {
		return
	}
	at, _ := t.now()
	over := (at - t.next) / t.interval
	t.ticks += over
	t.expired = false
	t.start(t.interval, t.next+(over+1)*t.interval, true)
}

// cancelTimers is called when the wall clock was set.
func cancelTimers() {
	for i := range timers {
		if t := &timers[i]; t.cancels {
			t.canceled = true
			t.ticks++
			changed(int(t.file - 1))
		}
	}
}

func readTimer(c *call, f *file, to, n uintptr) int64 {
	t := &timers[f.obj]
	switch {
	case n < 8:
		return -eINVAL
	case t.canceled:
		t.canceled, t.expired, t.ticks = false, false, 0
		return -eCANCELED
	case t.ticks == 0:
		return c.waitFor(f)
	}
	t.forward()
	v := t.ticks
	t.expired, t.ticks = false, 0
	if !out64(to, v) {
		return -eFAULT
	}
	return 8
}

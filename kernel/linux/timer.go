package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The timers of timer_create(2), which send a signal to the program or to one of its threads. Go's
// runtime/pprof has one for each thread, on the thread's running time. (A handler does not get the
// timer's value, si_value.)

// maxTimers is the largest number of timers. Go does without when there are no more.
const maxTimers = 64

type timer struct {
	used           bool
	signal         uint8 // 0: none is sent
	to             int32 // the thread that gets the signal; 0: any
	clock          uint8
	of             int32  // the thread whose running time counts, for clockThreadCPU
	next, interval uint64 // ns of the clock; next 0: off
	overrun        int32  // further expirations at the last signal
	ofKernel       bool   // the signal is the kernel's, for setitimer

	// A timer of timerfd_create sends no signal: its open file, files[file-1], counts.
	file     int32
	expired  bool   // it has expired since it was last read, and is stopped
	cancels  bool   // reading fails once the clock has been set
	canceled bool   // the clock was set
	ticks    uint64 // expirations that have not been read
}

// Under the kernel lock.
var (
	timers [maxTimers + len(itimerSignals)]timer // after these, the timers of setitimer
	// timersArmed is the number of timers that are not off: if it is 0, Tick does not look at them.
	timersArmed int
)

// sigevent's kinds of notification.
const (
	notifySignal = 0
	notifyNone   = 1
	notifyThread = 4
)

func sysTimerCreate(c *call) int64 {
	t := timer{used: true, signal: sigALRM, clock: uint8(c.op(0)), of: thread.Current().TID}
	if _, ok := now(c.op(0)); !ok {
		return -eINVAL
	}
	switch c.op(0) {
	case 4, 5, 6: // raw and coarse
		return -eOPNOTSUPP
	}
	id := freeTimer()
	if c.args[1] != 0 {
		var v [3]uint64 // value; signal and kind; thread
		if !load(&v, c.pointer(1)) {
			return -eFAULT
		}
		t.signal = uint8(v[1])
		switch sig := uint32(v[1]); {
		case v[1]>>32 == notifyNone:
			t.signal = 0
		case sig == 0 || sig > numSignals:
			return -eINVAL
		case v[1]>>32 == notifyThread:
			if t.to = int32(v[2]); thread.Get(t.to) == nil {
				return -eINVAL
			}
		case v[1]>>32 != notifySignal:
			return -eINVAL
		}
	}
	if id == maxTimers {
		return -eAGAIN
	}
	if !out32(c.pointer(2), uint32(id)) {
		return -eFAULT
	}
	timers[id] = t
	return 0
}

// freeTimer returns the number of a timer that is not in use, or maxTimers.
func freeTimer() (id int) {
	for id < maxTimers && timers[id].used {
		id++
	}
	return id
}

// timer returns the timer that a call names, or nil.
func (c *call) timer() *timer {
	percpu.AssertLocked()
	if c.op(0) >= maxTimers || !timers[c.op(0)].used || timers[c.op(0)].file != 0 {
		return nil
	}
	return &timers[c.op(0)]
}

// now returns the time of the timer's clock. ok is false if the clock stands still because its
// thread does not run.
func (t *timer) now() (ns uint64, ok bool) {
	if t.clock == clockThreadCPU {
		r := thread.Current()
		if r == nil || r.TID != t.of {
			if o := thread.Get(t.of); o != nil {
				return o.CPU, false
			}
			return 0, false
		}
		return thread.ThreadTime(), true
	}
	if t.clock == clockProcessCPU && thread.Current() == nil {
		return thread.CPUTime(), false
	}
	return now(uintptr(t.clock))
}

// set sets when the timer expires.
func (t *timer) set(next uint64) {
	if t.next != 0 {
		timersArmed--
		logTimer(handle.Close, t.key(), 0)
	}
	if t.next = next; next != 0 {
		timersArmed++
		at, _ := t.now()
		logTimer(handle.Open, t.key(), max(next, at)-at)
	}
}

// key is the timer's key in the log of resources.
func (t *timer) key() uintptr {
	percpu.AssertLocked()
	i := (addressOf(t) - addressOf(&timers)) / unsafe.Sizeof(*t)
	if i >= maxTimers {
		return i - maxTimers
	}
	return handle.TimerPOSIX + i
}

func sysTimerSettime(c *call) int64 {
	if c.args[2] == 0 {
		return -eINVAL
	}
	interval, value, e := inTimerspec(c.pointer(2))
	if e != 0 {
		return e
	}
	t := c.timer()
	if t == nil {
		return -eINVAL
	}
	if c.args[3] != 0 {
		if e := t.out(c.pointer(3)); e != 0 {
			return e
		}
	}
	t.start(interval, value, c.flags(1)&timerAbsolute != 0)
	return 0
}

// inTimerspec reads a struct itimerspec.
func inTimerspec(a uintptr) (interval, value uint64, errno int64) {
	if interval, errno = inTimespec(a); errno == 0 {
		value, errno = inTimespec(a + timespecSize)
	}
	return interval, value, errno
}

// start lets the timer expire after a duration, or at a time of its clock, and then at intervals;
// value 0 is never.
func (t *timer) start(interval, value uint64, absolute bool) {
	if value != 0 && !absolute {
		at, _ := t.now()
		value += at
	}
	t.interval = interval
	t.set(value)
	thread.Nudge()
}

func sysTimerGettime(c *call) int64 {
	t := c.timer()
	if t == nil {
		return -eINVAL
	}
	return t.out(c.pointer(1))
}

// out writes a struct itimerspec.
func (t *timer) out(a uintptr) int64 {
	left := uint64(0)
	if t.next != 0 {
		left = 1 // it has expired, but that was not noticed yet
		if at, _ := t.now(); t.next > at {
			left = t.next - at
		}
	}
	if e := outTimespec(a, t.interval); e != 0 {
		return e
	}
	return outTimespec(a+timespecSize, left)
}

func sysTimerGetoverrun(c *call) int64 {
	t := c.timer()
	if t == nil {
		return -eINVAL
	}
	return int64(t.overrun)
}

func sysTimerDelete(c *call) int64 {
	t := c.timer()
	if t == nil {
		return -eINVAL
	}
	t.set(0)
	*t = timer{}
	return 0
}

// endTimers handles the timers of a thread that ends: those that count its time stop for good, and
// those that signal it have no receiver any more.
func endTimers(tid int32) {
	for i := range timers {
		if t := &timers[i]; t.used && (t.to == tid || t.clock == clockThreadCPU && t.of == tid) {
			t.set(0)
			t.of = 0
		}
	}
}

// tickTimers sends the signals of the timers that have expired, and returns when the next one may
// expire, or ^0.
func tickTimers(when uint64) (next uint64) {
	next = clock.Never
	for i := range timers {
		t := &timers[i]
		if t.next == 0 || t.expired {
			continue
		}
		at, runs := t.now()
		if !runs {
			continue
		}
		if at >= t.next && t.file != 0 {
			t.expire()
			continue
		}
		if at >= t.next {
			over := uint64(0)
			if t.interval != 0 {
				over = (at - t.next) / t.interval
			}
			t.overrun = int32(min(over, 1<<31-1))
			if t.signal != 0 {
				t.send(thread.Get(t.to))
			}
			if t.interval == 0 {
				t.set(0)
				continue
			}
			t.next += (over + 1) * t.interval
		}
		next = min(next, when+(t.next-at))
	}
	return next
}

// send sends the timer's signal to a thread, or, with nil, to any thread that can take it.
func (t *timer) send(to *thread.Thread) {
	bit := uint64(1) << (t.signal - 1)
	if to == nil {
		to = taker(bit)
	}
	if t.ofKernel {
		to.ByKernel |= bit
	} else {
		to.ByTimer |= bit
	}
	send(to, int(t.signal))
}

package inet

import (
	"container/heap"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip"

	kernelclock "github.com/zeroframe/zeroframe/kernel/clock"
)

// clock is the stack's. Its timers are none of the runtime's, to which a program with a timer is
// not asleep.
type clock struct {
	tcpip.Clock
	failure *failure
	file    *alarm
	mu      sync.Mutex
	timers  timers
}

// timer is one of them.
type timer struct {
	clock *clock
	at    tcpip.MonotonicTime
	f     func()
	index int // in timers; -1: it is not there
}

// timers is a heap: the next one is the first.
type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

func (t *timers) Push(x any) {
	x.(*timer).index = len(*t)
	*t = append(*t, x.(*timer))
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last], *t = nil, (*t)[:last]
	x.index = -1
	return x
}

func newClock(x *failure) (*clock, error) {
	file, err := newAlarm()
	c := &clock{Clock: tcpip.NewStdClock(), failure: x, file: file}
	if err == nil {
		x.serve(c.run)
	}
	return c, err
}

// run calls the functions of timers when it is time.
func (c *clock) run() {
	for c.file.wait() == nil {
		c.mu.Lock()
		for now := c.NowMonotonic(); len(c.timers) > 0 && !c.timers[0].at.After(now); {
			go c.failure.guard(heap.Pop(&c.timers).(*timer).f)
		}
		c.set()
		c.mu.Unlock()
	}
}

// set sets the alarm for the next timer.
func (c *clock) set() {
	if len(c.timers) > 0 {
		c.file.set(c.timers[0].at.Sub(c.NowMonotonic()))
	}
}

// NowMonotonic needs no system call: the stack wants to know the time of each packet several times.
func (c *clock) NowMonotonic() (now tcpip.MonotonicTime) {
	if kernelclock.Alike() {
		return now.Add(time.Duration(kernelclock.Now()))
	}
	return c.Clock.NowMonotonic()
}

func (c *clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &timer{clock: c, f: f, index: -1}
	t.Reset(d)
	return t
}

func (t *timer) Stop() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&c.timers, t.index)
	return true
}

func (t *timer) Reset(d time.Duration) {
	t.Stop()
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	t.at = c.NowMonotonic().Add(d)
	heap.Push(&c.timers, t)
	if t.index == 0 {
		c.set()
	}
}

// after returns a channel that is closed when d is over.
func (c *clock) after(d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	c.AfterFunc(d, func() { close(over) })
	return over
}

// alarm is a descriptor that counts time (timerfd_create(2)).
type alarm struct {
	fd   uintptr
	file *os.File
}

func newAlarm() (*alarm, error) {
	const monotonic = 1
	fd, _, e := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic,
		syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if e != 0 {
		return nil, e
	}
	return &alarm{fd, os.NewFile(fd, "clock")}, nil
}

// set has it go off after d.
func (a *alarm) set(d time.Duration) {
	d = max(d, 1) // 0 would stop it
	value := [4]int64{2: int64(d / time.Second), 3: int64(d % time.Second)}
	syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.fd, 0, uintptr(unsafe.Pointer(&value)), 0, 0, 0)
}

// wait waits until it has gone off.
func (a *alarm) wait() error {
	var b [8]byte
	_, err := a.file.Read(b[:])
	return err
}

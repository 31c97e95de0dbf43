package linuxabi

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// futex (futex(2)): wait until a word changes, wake who waits. There is one address
// space, so the word's address is its name.

const (
	futexWait       = 0
	futexWake       = 1
	futexRequeue    = 3
	futexCmpRequeue = 4
	futexWaitBitset = 9
	futexWakeBitset = 10
	futexPrivate    = 128
	futexRealtime   = 256
)

func (c *call) futex() int64 {
	addr, op, val, timeout := c.a, c.b&^(futexPrivate|futexRealtime), uint32(c.c), c.d
	if addr%4 != 0 {
		return -eINVAL
	}
	switch op {
	case futexWait, futexWaitBitset:
		deadline := uint64(never)
		if timeout != 0 {
			ns, e := inTimespec(timeout)
			if e != 0 {
				return e
			}
			switch {
			case op == futexWait:
				deadline = clock.Now() + ns
			case c.b&futexRealtime != 0:
				deadline = sinceBoot(int64(ns))
			default:
				deadline = ns
			}
		}
		have, ok := in32(addr)
		if !ok {
			return -eFAULT
		}
		if have != val {
			return -eAGAIN
		}
		sched.Block(c.f, sched.ForFutex, addr, deadline, -eTIMEDOUT)
	case futexWake, futexWakeBitset:
		if !inReach(addr, 4) {
			return -eFAULT
		}
		return int64(wakeFutex(addr, int(int32(val))))
	}
	return -eNOSYS
}

// never is a deadline that does not come.
const never = ^uint64(0)

// sinceBoot turns a wall-clock time into one of the kernel's clock.
func sinceBoot(wall int64) uint64 {
	boot := clock.Wall() - int64(clock.Now())
	if wall <= boot {
		return 0
	}
	return uint64(wall - boot)
}

// wakeFutex wakes up to n threads that wait for the word at addr.
func wakeFutex(addr uintptr, n int) (woken int) {
	for tid := int32(1); tid <= sched.MaxTID() && woken < n; tid++ {
		if t := sched.Get(tid); t != nil && t.State == sched.Waiting && t.Why == sched.ForFutex && t.Key == addr {
			sched.Wake(t, 0)
			woken++
		}
	}
	return woken
}

package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// select and pselect6, which name descriptors by the bits of three sets.

// mostSelected bounds the sets: a call has room for no more. The C library's have 1024.
const mostSelected = 2048

// selectFor waits for one of the first n descriptors that are in the program's sets. timeout is in
// ns, ^0 for no limit. Sets and time stay in the program's memory until the call returns: when
// something happens and when the time is over, the call starts over and reads them again.
func (c *call) selectFor(timeout uint64) int64 {
	n := c.int(0)
	if n < 0 || n > mostSelected {
		return -eINVAL
	}
	words := (uintptr(n) + 63) / 64
	sets := [3]uintptr{c.pointer(1), c.pointer(2), c.pointer(3)}
	events := [3]uint32{epollIn | epollHup | epollErr, epollOut | epollErr, 0}
	hits := int64(0)
	var found [3][mostSelected / 64]uint64
	for w := uintptr(0); w < words; w++ {
		for i := range sets {
			if sets[i] == 0 {
				continue
			}
			set, ok := in64(sets[i] + w*8)
			if !ok {
				return -eFAULT
			}
			if last := uintptr(n) - w*64; last < 64 {
				set &= 1<<last - 1
			}
			for bit := uintptr(0); set>>bit != 0; bit++ {
				if set>>bit&1 == 0 {
					continue
				}
				f := get(w*64 + bit)
				if f == nil {
					return -eBADF
				}
				if f.flags&oPath != 0 || state(f)&events[i] != 0 {
					found[i][w] |= 1 << bit
					hits++
				}
			}
		}
	}
	if hits == 0 {
		if e := c.waitEvents(anyEpoll, timeout, -eRESTARTTIMED); e != 0 {
			return e
		}
	}
	for i := range sets {
		if sets[i] != 0 && !outWords(sets[i], found[i][:words]) {
			return -eFAULT
		}
	}
	return hits
}

// timeLeft returns how much of selectFor's time is left.
func (c *call) timeLeft(timeout uint64) (ns uint64) {
	t := thread.Current()
	if !c.again && timeout < 1<<62 { // it has not waited
		return timeout
	}
	if now := clock.Now(); now < t.Until && t.Until != never {
		return t.Until - now
	}
	return 0
}

func sysSelectTimed(c *call) int64 {
	at, timeout := c.pointer(4), uint64(never)
	if at != 0 {
		sec, usec, ok := inPair(at)
		switch {
		case !ok:
			return -eFAULT
		case int64(sec) < 0 || int64(usec) < 0:
			return -eINVAL
		}
		timeout = min(min(sec, 1<<32)*1e9+min(usec, 1<<50)*1000, 1<<62-1)
	}
	r := c.selectFor(timeout)
	if at != 0 && r != -eINVAL && r != -eBADF && r != -eFAULT {
		left := c.timeLeft(timeout)
		out64(at, left/1e9)
		out64(at+8, left%1e9/1000)
	}
	return r
}

func sysPselect6(c *call) int64 {
	at := c.pointer(4)
	var set, size uint64
	if more := c.pointer(5); more != 0 {
		var ok bool
		if set, size, ok = inPair(more); !ok {
			return -eFAULT
		}
	}
	timeout, e := inTimeout(at)
	if e != 0 {
		return e
	}
	if e := maskFor(uintptr(set), uintptr(size)); e != 0 {
		return e
	}
	r := unmask(c.selectFor(timeout))
	if at != 0 && r != -eINVAL && r != -eBADF && r != -eFAULT {
		outTimespec(at, c.timeLeft(timeout))
	}
	return r
}

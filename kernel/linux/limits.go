package linux

import (
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Limits of resources (getrlimit(2)). Those on descriptors, on the size of files, on memory and on
// CPU time are enforced. The others are only kept for whoever asks: what they limit does not exist
// here, or is unlimited for root on Linux, too. The stack limit concerns a process's first thread,
// whose stack grows on Linux. Here its size is fixed from the start, as the Go runtime fixes those
// of the other threads, and goroutines' stacks grow up to debug.SetMaxStack.

type rlimit struct{ soft, hard uint64 }

const (
	limitCPU   = 0 // s
	limitSize  = 1 // bytes of a file
	limitData  = 2 // bytes of writable private memory
	limitFiles = 7
	limitSpace = 9 // bytes of the address space
	numLimits  = 16

	unlimited = ^uint64(0)
)

// limits are the program's limits. Under the kernel lock.
var limits = [numLimits]rlimit{
	{unlimited, unlimited}, {unlimited, unlimited}, {unlimited, unlimited},
	{8 << 20, unlimited}, // stack of the first thread
	{0, unlimited},       // core files
	{unlimited, unlimited},
	{thread.MaxThreads, thread.MaxThreads},
	{maxFDs, maxFDs},
	{unlimited, unlimited}, {unlimited, unlimited}, {unlimited, unlimited}, {unlimited, unlimited},
	{unlimited, unlimited}, {unlimited, unlimited}, {unlimited, unlimited}, {unlimited, unlimited},
}

// inLimit reads a limit from the program.
func inLimit(from uintptr) (l rlimit, ok bool) {
	ok = load(&l, from)
	return l, ok
}

// setLimit sets a limit. Root may raise the hard limits, but not beyond what is possible.
func setLimit(resource uintptr, l rlimit) int64 {
	switch {
	case resource >= numLimits || l.soft > l.hard:
		return -eINVAL
	case resource == limitFiles && l.hard > maxFDs:
		return -ePERM
	}
	limits[resource] = l
	if resource == limitCPU {
		thread.Nudge()
	}
	return 0
}

func outLimit(to uintptr, l rlimit) int64 {
	return copied(store(to, &l))
}

func sysPrlimit(c *call) int64 {
	resource, from, to := c.op(1), c.pointer(2), c.pointer(3)
	var l rlimit
	if from != 0 {
		var ok bool
		if l, ok = inLimit(from); !ok {
			return -eFAULT
		}
	}
	switch {
	case c.int(0) != 0 && c.int(0) != pid:
		return -eSRCH
	case resource >= numLimits:
		return -eINVAL
	}
	old := limits[resource]
	if from != 0 {
		if e := setLimit(resource, l); e != 0 {
			return e
		}
	}
	if to == 0 {
		return 0
	}
	return outLimit(to, old)
}

func sysGetrlimit(c *call) int64 {
	if c.op(0) >= numLimits {
		return -eINVAL
	}
	return outLimit(c.pointer(1), limits[c.op(0)])
}

func sysSetrlimit(c *call) int64 {
	l, ok := inLimit(c.pointer(1))
	if !ok {
		return -eFAULT
	}
	return setLimit(c.op(0), l)
}

// tooLong is for a file that would grow beyond the limit. It returns the error, and the caller gets
// a signal, too.
func tooLong() int64 {
	send(thread.Current(), sigXFSZ)
	return -eFBIG
}

// grow returns an error if a file of have bytes may not get size bytes.
func grow(have, size int64) int64 {
	if size > have && uint64(size) > limits[limitSize].soft {
		return tooLong()
	}
	return 0
}

// hasRoom reports whether the limits allow size more bytes of memory; writes says whether the
// program may write to it.
func hasRoom(size uintptr, writes bool) bool {
	l := limits[limitSpace].soft
	if l != unlimited && uint64(mem.Bytes(false))+uint64(size) > l {
		return false
	}
	l = limits[limitData].soft
	return l == unlimited || !writes || uint64(mem.Bytes(true))+uint64(size) <= l
}

// tickCPU sends the signals of the limit on CPU time, and returns when it wants to be called next.
func tickCPU(now uint64) (next uint64) {
	l, used := &limits[limitCPU], thread.CPUTime()
	if l.soft >= 1<<33 {
		return never // no CPU has run that long
	}
	switch at := max(l.soft, 1) * 1e9; {
	case used < at:
		return now + at - used
	case used/1e9 >= l.hard:
		send(nil, sigKILL)
	default:
		send(nil, sigXCPU)
	}
	l.soft = used/1e9 + 1
	return now + 1e9
}

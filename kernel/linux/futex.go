package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// futex (futex(2)): wait until a word changes, wake the waiters. There is one address space, so the
// word's address identifies it; in a shared mapping of a file its address in RAM does, because the
// word may be mapped in two places.

const (
	futexWait       = 0
	futexWake       = 1
	futexWaitBitset = 9
	futexWakeBitset = 10
	futexPrivate    = 128
	futexRealtime   = 256
)

func sysFutex(c *call) int64 {
	addr, flags, val, timeout := c.pointer(0), c.uint(1), c.uint(2), c.pointer(3)
	op, bits := flags&^(futexPrivate|futexRealtime), uint32(anyBits)
	if op == futexWaitBitset || op == futexWakeBitset {
		bits = c.uint(5)
	}
	deadline := never
	if timeout != 0 && (op == futexWait || op == futexWaitBitset) {
		ns, e := inTimespec(timeout)
		if e != 0 {
			return e
		}
		switch {
		case op == futexWait:
			deadline = clock.Now() + ns
		case flags&futexRealtime != 0:
			deadline = sinceBoot(int64(ns))
		default:
			deadline = ns
		}
	}
	switch op {
	case futexWait, futexWake, futexWaitBitset, futexWakeBitset:
	default:
		return -eNOSYS
	}
	switch {
	case flags&futexRealtime != 0 && op != futexWaitBitset:
		return -eNOSYS
	case bits == 0 || addr%4 != 0:
		return -eINVAL
	case op == futexWake || op == futexWakeBitset:
		if !inReach(addr, 4) {
			return -eFAULT
		}
		if addr, ok := futexName(addr, flags); ok {
			return int64(wakeFutex(addr, max(int(int32(val)), 1), bits)) // Linux wakes one for 0, too
		}
		return -eFAULT
	}
	have, ok := in32(addr)
	if !ok {
		return -eFAULT
	}
	if have != val {
		return -eAGAIN
	}
	t := thread.Current()
	if !c.again {
		t.Until, t.Left = deadline, 0
	}
	turns++
	t.Turn, t.Bits = turns, bits
	name, _ := futexName(addr, flags)
	thread.Block(c.f, thread.ForFutex, name, t.Until, -eTIMEDOUT)
	return 0
}

// futexName returns what identifies a futex. ok is false if the word must be readable and is not.
func futexName(addr uintptr, flags uint32) (name uintptr, ok bool) {
	if file, _ := mem.FileAt(addr); flags&futexPrivate != 0 || file == 0 {
		return addr, true
	}
	_, ok = in32(addr) // so that it is in RAM
	if name = mem.SharedFrame(addr); name != 0 {
		return name, ok
	}
	return addr, ok
}

// anyBits is the set of bits of a caller that names none.
const anyBits = 1<<32 - 1

// turns counts the waits for futexes, to put waiters in order. Under the kernel lock.
var turns uint64

// never is a deadline that never comes.
const never = ^uint64(0)

// sinceBoot converts a wall-clock time into a time of the kernel's clock.
func sinceBoot(wall int64) uint64 {
	boot := clock.Wall() - int64(clock.Now())
	if wall <= boot {
		return 0
	}
	return uint64(wall - boot)
}

// wakeFutex wakes up to n threads that wait for the word at addr with one of the bits; those that
// have waited longest come first.
func wakeFutex(addr uintptr, n int, bits uint32) (woken int) {
	for ; woken < n; woken++ {
		t := longest(addr, bits)
		if t == nil {
			break
		}
		thread.Wake(t, 0)
	}
	return woken
}

// longest returns the thread that has waited longest for the word at addr with one of the bits, or
// nil.
func longest(addr uintptr, bits uint32) (first *thread.Thread) {
	for t := thread.Next(0); t != nil; t = thread.Next(t.TID) {
		if t.WaitsFor(thread.ForFutex) && t.Key == addr && t.Bits&bits != 0 &&
			(first == nil || t.Turn < first.Turn) {
			first = t
		}
	}
	return first
}

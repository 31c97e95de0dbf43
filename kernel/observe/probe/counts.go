package probe

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// What is counted.

// Buckets is the number of buckets of a histogram of times; the last one has all longer ones. A
// bucket is a quarter of an octave: [Bucket].
const Buckets = 160

// counts are the numbers of a function. A call has returned, was left by a jump, was unwound, is
// still open, or is untimed, in which case its end is not known.
type counts struct {
	calls, returns, tails, unwound uint64
	open, gone                     uint64 // set by Write; gone: their goroutine has ended
	untimed                        uint64 // calls that found no room
	ticks, least, most             uint64 // of the timed calls
	timed                          uint64
	histogram                      [Buckets]uint32
}

// maxCallers is the number of rows by callers.
const maxCallers = 1 << 14

// callers are the numbers of a function called from one stack.
type callers struct {
	function uint32
	stack    uint32 // in the depot
	calls    uint64
	timed    uint64
	ticks    uint64
}

// Under the kernel lock.
var (
	all, rows uintptr // []counts, []callers: a hash table
	usedRows  uint32
	lostRows  uint64 // calls without a row
)

func countsOf(function uint32) *counts {
	return (*counts)(arch.Pointer(all + uintptr(function)*unsafe.Sizeof(counts{})))
}

func rowAt(i uint32) *callers {
	return (*callers)(arch.Pointer(rows + uintptr(i)*unsafe.Sizeof(callers{})))
}

// setCounts takes the memory.
func setCounts(memory func(size uintptr) uintptr) bool {
	all = memory(uintptr(numFuncs) * unsafe.Sizeof(counts{}))
	if stacks = stacks && stackid.On(); stacks {
		if rows = memory(maxCallers * unsafe.Sizeof(callers{})); rows == 0 {
			return false
		}
	}
	return all != 0 && setFrames(memory)
}

// callerOf returns 1 + the number of the row by callers, or 0.
func callerOf(function uint32, f *arch.TrapFrame) uint32 {
	percpu.AssertLocked()
	if !stacks {
		return 0
	}
	id, ok := stackid.Program(f, -1)
	if !ok {
		lostRows++
		return 0
	}
	for h := id*0x9e37_79b1>>8 ^ function; ; h++ {
		r := rowAt(h % maxCallers)
		if r.calls == 0 {
			if usedRows > maxCallers/8*7 {
				lostRows++
				return 0
			}
			usedRows++
			r.function, r.stack = function, id
		}
		if r.function == function && r.stack == id {
			r.calls++
			return h%maxCallers + 1
		}
	}
}

// time adds the time of a call that ends now.
func (c *counts) time(o *openCall, now uint64) {
	t := now - o.began
	if r := percpu.This(); r.Number == o.cpu {
		t -= min(t, r.ProbeTicks-o.spent)
	}
	if c.timed == 0 || t < c.least {
		c.least = t
	}
	c.timed++
	c.most = max(c.most, t)
	c.ticks += t
	c.histogram[Bucket(t)]++
	if o.caller != 0 {
		r := rowAt(o.caller - 1)
		r.timed++
		r.ticks += t
	}
}

// Bucket returns the bucket of a number of ticks: up to 3 the number itself, then four for each
// power of two.
func Bucket(t uint64) int {
	if t < 4 {
		return int(t)
	}
	log := uint(0) // of t
	for step := uint(32); step > 0; step /= 2 {
		if t>>(log+step) != 0 {
			log += step
		}
	}
	return min(int(log*4-4)+int(t>>(log-2)&3), Buckets-1)
}

package profile

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer/depot"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// Kind is the kind of the record.
const Kind = "profile.cpu"

// DefaultHz is the number of ticks in a second unless the option says otherwise: a prime, so that
// samples do not fall into step with the program's regular activity.
const DefaultHz = 997

// MaxHz is the highest rate that is accepted.
const MaxHz = 100_000

// Counts is the size in bytes of a table of counts for that many stacks.
func Counts(stacks uintptr) uintptr { return stacks * 8 }

// Late marks the ID of a stack in the record; IDs have fewer bits. See doc.go.
const Late = 1 << 31

// on is set while samples are taken. Under the kernel lock.
var on bool

// Under the kernel lock.
var (
	counts uintptr // address of the table: an ID and a count of 4 bytes each
	rows   uint32  // in it
	used   uint32

	hz       uint64
	interval uint64 // ns of running time
	began    uint64 // ns of running time

	ticks, samples, lost, stalled, cost uint64
)

// Setup gives the profiler zeroed memory for its counts; a size is from [Counts]. Early context.
func Setup(base, size uintptr, perSecond uint64) {
	counts, rows = base, uint32(size/8)
	hz, interval = perSecond, 1e9/perSecond
}

// Ready reports whether there is a profiler. Any context.
func Ready() bool { return parts.Observe && counts != 0 }

// On reports whether samples are taken. Any context.
func On() bool { return parts.Observe && on }

// Start begins to take samples; ran is the running time in ns, of all CPUs together. Stop ends it.
// Earlier counts stay. Kernel context.
func Start(ran uint64) {
	percpu.AssertLocked()
	if counts != 0 && !on {
		on, began = true, ran-Ran(began)
		for n := range percpu.Count() {
			r := percpu.At(n)
			r.NextTick = r.Ran + interval
		}
	}
}

// Stop ends what Start began.
func Stop(ran uint64) {
	percpu.AssertLocked()
	if on {
		on, began = false, ran-began
	}
}

// Ran returns the sampled running time in ns; ran is the present running time.
func Ran(ran uint64) uint64 {
	if on {
		return ran - began
	}
	return began
}

// Wait returns how many ns of running time are left until the CPU's next tick; ran is its own
// running time, as for Due.
func Wait(ran uint64) uint64 {
	next := percpu.This().NextTick
	return max(ran, next) - ran
}

// late is how long, in ns, an interrupt may come after a tick that was due: on an otherwise idle
// host, emulators' timers are up to a part of that late.
const late = 1_000_000

// Due returns the number of ticks that were due at the running time ran, and marks them as done.
// isLate says that all but the first are late: they were due so long ago that the interrupt must
// have waited, for the kernel or for the host.
func Due(ran uint64) (weight uint32, isLate bool) {
	percpu.AssertLocked()
	r := percpu.This()
	if ran < r.NextTick {
		return 0, false
	}
	behind := ran - r.NextTick
	n := 1 + behind/interval
	r.NextTick += n * interval
	ticks += n
	return uint32(n), behind >= max(interval, late)
}

// Skip postpones the CPU's next tick by that many ns of running time: taking samples is not the
// program's time, and if it takes longer than a tick, the program would never run.
func Skip(ns uint64) {
	percpu.AssertLocked()
	percpu.This().NextTick += ns
}

// Count counts a sample of that weight for a stack; ok is false if it has no ID. isLate is Due's,
// inCall says that the sample is of a system call. spent is the cost of the sample, in ticks of the
// time stamp counter.
func Count(id uint32, ok bool, weight uint32, isLate, inCall bool, spent uint64) {
	percpu.AssertLocked()
	samples++
	cost += spent
	more := uint32(0)
	if isLate {
		weight, more = 1, weight-1
		if !inCall {
			stalled += uint64(more) // nothing has delayed the interrupt
			more = 0
		}
	}
	if !ok || !add(id, weight) {
		lost += uint64(weight)
	}
	if more > 0 && (!ok || !add(id|Late, more)) {
		lost += uint64(more)
	}
}

// called has bit n set if there is a sample of system call n. Under the kernel lock.
var called [8]uint64

// Called records that there is a sample of the system call with that number.
func Called(number int) {
	percpu.AssertLocked()
	if n := uint(number); n < 64*uint(len(called)) {
		called[n/64] |= 1 << (n % 64)
	}
}

type row struct{ id, count uint32 }

func at(i uint32) *row { return (*row)(arch.Pointer(counts + 8*uintptr(i))) }

// add adds to the count of an ID.
func add(id, weight uint32) bool {
	for i := uint32(uint64(id*0x9e37_79b1) * uint64(rows) >> 32); ; {
		r := at(i)
		if r.id == id {
			r.count += weight
			return true
		}
		if r.id == 0 {
			if used >= rows/8*7 {
				return false
			}
			used++
			r.id, r.count = id, weight
			return true
		}
		if i++; i == rows {
			i = 0
		}
	}
}

// Times are the record's times; see doc.go.
type Times struct{ Began, Lasted, Ran, Slow, CostHz uint64 }

// Write writes the record, which has been begun; the caller ends it. name names the system calls.
// Kernel context.
func Write(w *stream.Writer, d *depot.Depot, t Times, name func(call int) string) {
	for _, v := range [...]uint64{2, hz, t.Began, t.Lasted, t.Ran, ticks, samples, lost, stalled,
		t.Slow, cost, t.CostHz} {
		w.Uvarint(v)
	}
	size := d.ImageSize()
	w.Uvarint(uint64(size))
	for i := range size {
		w.Byte(d.ImageByte(size, i))
	}
	calls := 0
	for _, set := range called {
		for ; set != 0; set &= set - 1 {
			calls++
		}
	}
	w.Uvarint(uint64(calls))
	for n := range 64 * len(called) {
		if called[n/64]>>(n%64)&1 != 0 {
			w.Uvarint(uint64(n))
			w.String(name(n))
		}
	}
	for i := range rows {
		if r := at(i); r.id != 0 {
			w.Uvarints(uint64(r.id), uint64(r.count))
		}
	}
}

package smp

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Whether the counters of all CPUs are one, which are the clock. The first CPU asks each other one for
// its counter several times, and reads its own before and behind:
//
//	the first CPU                    CPU n
//
//	reads its counter: t0
//	sets asked to n, round    --->   sees it
//	                                 reads its counter: t
//	sees it                   <---   leaves it, and answers with n, round
//	reads its counter: t1
//
// Where the counters are one, t is between t0 and t1. Where they are not, what is to be added is known
// to t1 - t0, and to less by several such answers; the CPU is asked on until that is less than what
// a program could notice, since a host may take a CPU away at any time.

const (
	rounds      = 20   // how often each CPU is asked at least
	mostRounds  = 1000 // and at most
	closeEnough = 1000 // to how many nanoseconds a skew is to be known
	compareWait = 1e9  // for how long a CPU is asked at most, in nanoseconds: a busy host may not let it run
	spins       = 200  // how often is looked for an answer without a pause (relax)
	roundBits   = 24
)

// What two CPUs tell each other. Each has its own words to answer in: one that was given up may come
// late. Set once at boot.
var (
	asked    uint32               // the number of the CPU << roundBits | the round; 0: none
	answers  [arch.MaxCPUs]uint32 // the latest round that it has answered
	counters [arch.MaxCPUs]uint64 // what each has read then
)

// skewed is how many CPUs' counters are off, of which that of mostSkewed is by most: mostSkew is what
// is added to it, in ticks, modulo 2^64. unsure is by how many ticks what is added to one may be wrong
// at most. Set once at boot.
var (
	skewed           int
	mostSkewed       uint32
	mostSkew, unsure uint64
)

// compareAll compares the counters of all CPUs with the first one's, and corrects the clock of those
// that are off. A CPU that does not answer keeps its own. Early context.
func compareAll() {
	for n := uint32(1); n < percpu.Count(); n++ {
		known := compare(n)
		s := known.Skew()
		if s == 0 {
			continue
		}
		percpu.At(n).CounterOffset += s
		unsure = max(unsure, known.Width()/2)
		if skewed++; skewed == 1 || distance(s) > distance(mostSkew) {
			mostSkewed, mostSkew = n, s
		}
	}
	if skewed != 0 {
		clock.Correct()
	}
}

// compare returns what is known of the counter of a CPU. When it is asked no longer, what it has
// answered so far counts.
func compare(number uint32) clock.Bounds {
	set(&asked, number<<roundBits)
	Begin(number, tell)
	began, known := clock.Now(), clock.Unbounded()
	for round := uint32(1); round <= rounds || round <= mostRounds && known.Skew() != 0 && clock.Nanos(known.Width()) > closeEnough; round++ {
		before := arch.ReadCounter()
		set(&asked, number<<roundBits|round)
		for looks := 0; percpu.Load(&answers[number]) != round && clock.Now()-began < compareWait; looks++ {
			relax(round, looks)
		}
		arch.Fence() // RDTSC might overtake the load
		after := arch.ReadCounter()
		if percpu.Load(&answers[number]) != round {
			break
		}
		known.Narrow(before, counters[number], after)
	}
	set(&asked, 0)
	for percpu.At(number).Call != 0 && clock.Now()-began < compareWait {
		arch.Pause()
	}
	return known
}

// tell is what the other CPU does, until the first one has turned to another, or has lost patience.
//
//go:noinline
func tell() {
	r := percpu.This()
	for last, looks := uint32(0), 0; ; looks++ {
		a := percpu.Load(&asked)
		if a>>roundBits != r.Number {
			return
		}
		if round := a & (1<<roundBits - 1); round != last {
			arch.Fence() // as in compare
			counters[r.Number] = arch.ReadCounter() + r.CounterOffset
			set(&answers[r.Number], round)
			last, looks = round, 0
			continue
		}
		relax(last+1, looks)
	}
}

// relax pauses, or does not, after so many looks in vain for something of that round. To pause takes
// longer than all else; but an emulator that runs one CPU after the other turns to the next one then.
// So each second round pauses at once.
func relax(round uint32, looks int) {
	if round%2 == 0 || looks >= spins {
		arch.Pause()
	}
}

// set sets a word that another CPU reads, behind all that was written before.
func set(p *uint32, v uint32) { arch.Store32(uintptr(unsafe.Pointer(p)), v) }

// distance returns how many ticks a skew is, in either direction.
func distance(skew uint64) uint64 { return min(skew, -skew) }

// printSkew says which CPU's counter is off, if one is.
func printSkew() {
	if skewed == 0 {
		return
	}
	console.String("; ")
	if skewed > 1 {
		console.String("the TSCs of ")
		console.Dec(uint64(skewed))
		console.String(" CPUs are off, most of all: ")
	}
	console.String("CPU ")
	console.Dec(uint64(mostSkewed))
	console.String("'s TSC is ")
	printTicks(distance(mostSkew))
	if int64(mostSkew) > 0 {
		console.String(" behind")
	} else {
		console.String(" ahead")
	}
	if clock.Nanos(unsure) > closeEnough {
		console.String(", give or take ")
		printTicks(unsure)
	}
}

// printTicks prints a time, in ns if it is short, else in us.
func printTicks(ticks uint64) {
	if ns := clock.Nanos(ticks); ns < 10_000 {
		console.Dec(ns)
		console.String(" ns")
	} else {
		console.Dec(ns / 1000)
		console.String(" us")
	}
}

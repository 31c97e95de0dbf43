package smp

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Comparing the counters of all CPUs, on which the clock is based. The first CPU asks each other
// one for its counter several times, and reads its own before and after:
//
//	the first CPU                    CPU n
//
//	reads its counter: t0
//	sets asked to n, round    --->   sees it
//	                                 reads its counter: t
//	sees it                   <---   leaves it, and answers with n, round
//	reads its counter: t1
//
// If the counters are equal, t is between t0 and t1. If they are not, the offset is known to t1 -
// t0, and better after several answers; the CPU is asked until the error is less than what a
// program could notice, because a host may take a CPU away at any time.

const (
	rounds      = 20   // the least number of questions to each CPU
	mostRounds  = 1000 // and the most
	closeEnough = 1000 // required accuracy of a skew in nanoseconds
	compareWait = 1e9  // longest time to ask a CPU, in nanoseconds, as a busy host may not run it
	spins       = 200  // checks for an answer without a pause (relax)
	roundBits   = 24
)

// What two CPUs tell each other. Each has its own words to answer in, because one that was given up
// may answer late. Set once at boot.
var (
	asked    uint32               // the number of the CPU << roundBits | the round; 0: none
	answers  [arch.MaxCPUs]uint32 // the latest round that each has answered
	counters [arch.MaxCPUs]uint64 // the counter that each read then
)

// skewed is the number of CPUs whose counters are off; mostSkewed is the one that is off most, by
// mostSkew, the offset that is added, in ticks, modulo 2^64. unsure is the largest possible error
// of an offset in ticks. Set once at boot.
var (
	skewed           int
	mostSkewed       uint32
	mostSkew, unsure uint64
)

// compareAll compares the counters of all CPUs with the first one's, and corrects the clock of
// those that are off. A CPU that does not answer keeps its own. Early context.
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

// compare returns what is known of the counter of a CPU. If asking stops early, the answers so far
// count.
func compare(number uint32) clock.Bounds {
	set(&asked, number<<roundBits)
	Begin(number, tell)
	began, known := clock.Now(), clock.Unbounded()
	for round := uint32(1); round <= rounds ||
		round <= mostRounds && known.Skew() != 0 && clock.Nanos(known.Width()) > closeEnough; round++ {
		before := arch.ReadCounter()
		set(&asked, number<<roundBits|round)
		for looks := 0; percpu.Load(&answers[number]) != round &&
			clock.Now()-began < compareWait; looks++ {
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

// tell is the other CPU's side; it returns when the first CPU has turned to another, or has lost
// patience.
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

// relax pauses, or does not, after that many checks in vain in that round. A pause takes longer
// than everything else, but an emulator that runs the CPUs in turn switches to the next one then.
// So every second round pauses at once.
func relax(round uint32, looks int) {
	if round%2 == 0 || looks >= spins {
		arch.Pause()
	}
}

// set sets a word that another CPU reads, after all earlier writes.
func set(p *uint32, v uint32) { arch.Store32(uintptr(unsafe.Pointer(p)), v) }

// distance returns the size of a skew in ticks, in either direction.
func distance(skew uint64) uint64 { return min(skew, -skew) }

// printSkew says which CPU's counter is off, if any.
func printSkew() {
	if skewed == 0 {
		return
	}
	console.String("; ")
	if skewed > 1 {
		console.Printf("the TSCs of %d CPUs are off, most of all: ", uint64(skewed))
	}
	console.Printf("CPU %d's TSC is ", uint64(mostSkewed))
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
		console.Printf("%d ns", ns)
	} else {
		console.Printf("%d us", ns/1000)
	}
}

package clock

import "github.com/zeroframe/zeroframe/arch"

// Never is the deadline of a timer that must not interrupt.
const Never = ^uint64(0)

// longest is the longest shot, in nanoseconds: one for a later deadline ends early. The timer's
// counter may end it even earlier.
const longest = 3600 * second

var (
	toShot   scale  // nanoseconds to ticks of the timer; set once at boot
	mostShot uint64 // ticks of the longest shot that it supports; set once at boot
)

// chooseTimer chooses the best timer that works.
func chooseTimer() {
	var hz uint64
	hz, mostShot = arch.ChooseTimer(tscHz)
	toShot = ratio(hz, second)
}

// Arm makes the timer interrupt once, when Now reaches deadline (ns), or at once if it already has.
// It replaces the previous deadline; Never cancels it, though an interrupt may still come.
//
// A shot may end before its deadline: the timers hold 55 ms, some seconds or an hour, and a timer
// other than the time stamp counter is known to only about one part in 10,000. So the interrupt's
// handler compares with Now and arms again. shot is the deadline of the CPU's current shot. Kernel
// context, interrupts off.
func Arm(shot *uint64, deadline uint64) {
	if deadline == *shot {
		return
	}
	*shot = deadline
	if deadline == Never {
		arch.StopTimer()
		return
	}
	from := zero // before the counter is read: a statement of its own
	tsc := arch.ReadCounter()
	for from != zero { // as in Now
		from = zero
		tsc = arch.ReadCounter()
	}
	wait := untilAt(deadline, toNanos.of(tsc+offset()-from))
	arch.StartTimer(tsc, shotTicks(toShot, wait, mostShot))
}

// untilAt returns how long to wait for deadline, at most longest.
func untilAt(deadline, now uint64) uint64 {
	switch {
	case deadline <= now:
		return 0
	case deadline-now > longest:
		return longest
	}
	return deadline - now
}

// shotTicks returns the number of ticks, 1 to max, that take wait nanoseconds. Two scales are
// rounded down, hence the 2.
func shotTicks(s scale, wait, max uint64) uint64 {
	if wait == 0 {
		return 1
	}
	if n := s.of(wait) + 2; n < max {
		return n
	}
	return max
}

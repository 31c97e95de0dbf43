package clock

import "github.com/zeroframe/zeroframe/arch"

// Never is the deadline of a timer that is not to interrupt.
const Never = ^uint64(0)

// longest is the longest shot, in nanoseconds: one for a later deadline ends
// early. What the timer's counter holds ends it earlier.
const longest = 3600 * second

var (
	toShot   scale  // nanoseconds to ticks of the timer; set once at boot
	mostShot uint64 // ticks of the longest shot that it can take; set once at boot
)

// chooseTimer takes the best timer that works.
func chooseTimer() {
	var hz uint64
	hz, mostShot = arch.ChooseTimer(tscHz)
	toShot = ratio(hz, second)
}

// Arm makes the timer interrupt once, when Now reaches deadline (ns), and at once
// if it has. It replaces the deadline before; Never takes that back, though an
// interrupt may come all the same.
//
// A shot may end before its deadline: the timers hold 55 ms, some seconds
// or an hour, and one that is not the time stamp counter is known against it
// to about one part in 10,000. So the interrupt's handler compares with Now and
// arms again. shot is the deadline of the CPU's shot that is under way. Kernel context,
// interrupts off.
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

// shotTicks returns the ticks, 1 to max, after which wait nanoseconds are over.
// Two scales are rounded down, hence the 2.
func shotTicks(s scale, wait, max uint64) uint64 {
	if wait == 0 {
		return 1
	}
	if n := s.of(wait) + 2; n < max {
		return n
	}
	return max
}

package clock

import "github.com/zeroframe/zeroframe/arch/amd64"

// The vectors of the timer's interrupt: the APIC's, and the PIT's through the
// 8259s.
const (
	Vector    = 0x40
	PITVector = amd64.VectorIRQ
)

// Never is the deadline of a timer that is not to interrupt.
const Never = ^uint64(0)

// timer is what interrupts.
type timer uint8

const (
	timerNone timer = iota
	timerDeadline
	timerAPIC
	timerPIT
)

// longest is the longest shot, in nanoseconds: one for a later deadline ends
// early. The counters of the APIC (32 bits) and the PIT (16 bits) end it earlier.
const longest = 3600 * second

var (
	used     timer
	apicBase uintptr
	armed    = Never // deadline of the shot that is under way
	toShot   scale   // nanoseconds to ticks of the APIC's timer or the PIT
)

// chooseTimer takes the best timer that works.
func chooseTimer(apic uintptr) {
	apicBase, armed = apic, Never
	switch {
	case apic != 0 && amd64.HasTSCDeadline():
		used = timerDeadline
		amd64.APICDeadline(apic, Vector)
	case apic != 0 && apicHz != 0:
		used, toShot = timerAPIC, ratio(apicHz, second)
		amd64.APICOneShot(apic, Vector)
	case apic == 0 && amd64.PITRound():
		used, toShot = timerPIT, ratio(amd64.PITHz, second)
		amd64.PITStop()
		amd64.UnmaskPIC(0)
	default:
		used = timerNone
	}
}

// TimerName returns what interrupts: "tsc-deadline", "lapic", "pit" or "none".
func TimerName() string {
	switch used {
	case timerDeadline:
		return "tsc-deadline"
	case timerAPIC:
		return "lapic"
	case timerPIT:
		return "pit"
	}
	return "none"
}

// Arm makes the timer interrupt once, when Now reaches deadline (ns), and at once
// if it has. It replaces the deadline before; Never takes that back, though a PIT
// may still interrupt.
//
// A shot may end before its deadline: the counters hold 55 ms (PIT), some seconds
// (APIC) or an hour, and the APIC's timer is known against the time stamp counter
// to about one part in 10,000. So the interrupt's handler compares with Now and
// arms again. Kernel context, interrupts off.
func Arm(deadline uint64) {
	if deadline == armed {
		return
	}
	armed = deadline
	if deadline == Never {
		stop()
		return
	}
	tsc := amd64.ReadTSC()
	wait := untilAt(deadline, toNanos.of(tsc-zero))
	switch used {
	case timerDeadline:
		amd64.WriteMSR(amd64.MSRTSCDeadline, tsc+shotTicks(toTicks, wait, 1<<63))
	case timerAPIC:
		amd64.StartAPICTimer(apicBase, uint32(shotTicks(toShot, wait, 1<<32-1)))
	case timerPIT:
		amd64.PITShot(uint16(shotTicks(toShot, wait, 1<<16-1)))
	}
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

// stop takes a shot back.
func stop() {
	switch used {
	case timerDeadline:
		amd64.WriteMSR(amd64.MSRTSCDeadline, 0)
	case timerAPIC:
		amd64.StartAPICTimer(apicBase, 0)
	case timerPIT:
		amd64.PITStop()
	}
}

// Ack is the first thing that the handler of Vector and PITVector calls: the shot
// is over, and Arm with the same deadline begins another. It tells the 8259s where
// they have brought the interrupt; the local APIC is told by whoever handles its
// interrupts. Kernel context.
func Ack() {
	armed = Never
	if used == timerPIT {
		amd64.AckPIC(0)
	}
}

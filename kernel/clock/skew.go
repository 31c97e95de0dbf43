package clock

import "github.com/zeroframe/zeroframe/arch"

// The counters of several CPUs. They are meant to be one, but firmware may have written to one of them,
// and a CPU that is plugged in begins at 0. What is added to a CPU's counter is in its record; the first
// CPU's is the clock.

// corrected is what held is while the clock goes and what is in the CPUs' records is added. No counter
// is it when the clock is stopped: it counts since the machine was turned on.
const corrected = 1

// going is what held is while the clock goes: 0, or corrected. Set once at boot.
var going uint64

// Correct has the clock be one for all CPUs, by the CounterOffset in each one's record. Early context.
func Correct() { going, held = corrected, corrected }

// Counter returns the counter of time, in ticks, as the first CPU has it. Early and kernel context.
func Counter() uint64 { return arch.ReadCounter() + offset() }

// offset returns what is to be added to the running CPU's counter.
func offset() uint64 {
	if going == 0 {
		return 0
	}
	return arch.ThisCPU().CounterOffset
}

// Bounds are between what is to be added to another CPU's counter for it to be this one's, in ticks.
type Bounds struct{ least, most int64 }

// Unbounded returns bounds that say nothing.
func Unbounded() Bounds { return Bounds{-1 << 63, 1<<63 - 1} }

// Narrow draws the bounds closer: other was read between before and after, which are this CPU's. Where
// that contradicts what was, it is all that is known. Any context.
func (b *Bounds) Narrow(before, other, after uint64) {
	now := Bounds{int64(before - other), int64(after - other)}
	if both := (Bounds{max(b.least, now.least), min(b.most, now.most)}); both.least <= both.most {
		now = both
	}
	*b = now
}

// Skew returns what is to be added, modulo 2^64, right but for half of Width. It is 0 if it is not
// proven that the counters differ. Any context.
func (b *Bounds) Skew() uint64 {
	if b.least <= 0 && b.most >= 0 {
		return 0
	}
	return uint64(b.least) + b.Width()/2
}

// Width returns how many ticks the bounds are apart. Any context.
func (b *Bounds) Width() uint64 { return uint64(b.most) - uint64(b.least) }

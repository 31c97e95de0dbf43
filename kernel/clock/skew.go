package clock

import "github.com/zeroframe/zeroframe/arch"

// The counters of several CPUs. They should be equal, but firmware may have written to one of them,
// and a CPU that is plugged in begins at 0. The offset of a CPU's counter is in its record; the
// first CPU's counter is the clock.

// corrected is the value of held while the clock runs with the offsets in the CPUs' records. A
// counter never has this value when the clock is stopped, because it counts since the machine was
// turned on.
const corrected = 1

// going is the value of held while the clock runs: 0, or corrected. Set once at boot.
var going uint64

// Correct makes the clock the same for all CPUs, by the CounterOffset in each one's record. Early
// context.
func Correct() { going, held = corrected, corrected }

// Counter returns the first CPU's counter of time, in ticks, computed on any CPU. Early and kernel
// context.
func Counter() uint64 { return arch.ReadCounter() + offset() }

// offset returns the offset of the running CPU's counter.
func offset() uint64 {
	if going == 0 {
		return 0
	}
	return arch.ThisCPU().CounterOffset
}

// Alike reports whether all CPUs have the same counter, as far as is known: then Now can be called
// in goroutines, too, which change CPUs at any time. Any context.
func Alike() bool { return going == 0 }

// Bounds bound the offset from another CPU's counter to this one's, in ticks.
type Bounds struct{ least, most int64 }

// Unbounded returns bounds that say nothing.
func Unbounded() Bounds { return Bounds{-1 << 63, 1<<63 - 1} }

// Narrow tightens the bounds: other was read between before and after, which are this CPU's. If
// that contradicts the old bounds, only the new reading counts. Any context.
func (b *Bounds) Narrow(before, other, after uint64) {
	now := Bounds{int64(before - other), int64(after - other)}
	if both := (Bounds{max(b.least, now.least), min(b.most, now.most)}); both.least <= both.most {
		now = both
	}
	*b = now
}

// Skew returns the offset, modulo 2^64, exact to half of Width. It is 0 if it is not proven that
// the counters differ. Any context.
func (b *Bounds) Skew() uint64 {
	if b.least <= 0 && b.most >= 0 {
		return 0
	}
	return uint64(b.least) + b.Width()/2
}

// Width returns the distance of the bounds in ticks. Any context.
func (b *Bounds) Width() uint64 { return uint64(b.most) - uint64(b.least) }

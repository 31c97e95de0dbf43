package clock

import "github.com/zeroframe/zeroframe/arch"

var (
	tscHz    uint64 // ticks of the time stamp counter in a second; set once at boot
	zero     uint64 // time stamp at which Now was 0; under the kernel lock
	toNanos  scale  // ticks of the time stamp counter to nanoseconds; set once at boot
	wallZero int64  // Wall when Now was 0; under the kernel lock
	haveRTC  bool   // set once at boot
)

// Init measures the counters, reads the real-time clock and chooses a timer. mapped says that
// [arch.AlarmRegisters] are mapped. It takes as long as [arch.MeasureCounter], and runs where that
// is acceptable.
func Init(mapped bool) {
	tscHz = arch.MeasureCounter(mapped)
	toNanos = ratio(second, tscHz)
	zero = arch.ReadCounter()
	readWall()
	chooseTimer()
}

// Now returns the time since Init in nanoseconds. It never goes back. Any context
// after Init.
func Now() uint64 {
	for {
		from, tsc := zero, held
		if tsc == 0 {
			tsc = arch.ReadCounter()
		} else if tsc == corrected {
			tsc = Counter()
		}
		if from == zero {
			return toNanos.of(tsc - from)
		}
		// An NMI in between has held this CPU while another one stopped the clock and restarted it.
	}
}

// Nanos converts ticks of the counter to nanoseconds. Any context after Init.
func Nanos(ticks uint64) uint64 { return toNanos.of(ticks) }

// Wall returns the time of day in nanoseconds since 1970-01-01 00:00 UTC. Until SetWall it is the
// real-time clock's, which counts whole seconds, so it is up to a second late; without such a clock
// the machine started in 1970. Any context after Init.
//
//go:noinline
func Wall() int64 { return wallZero + int64(Now()) }

// SetWall sets the time of day; Now does not change.
func SetWall(ns int64) { wallZero = ns - int64(Now()) }

// held is the time stamp at which Hold stopped the clock. While the clock runs it equals going: one
// word, so that Now reads no other one if no CPU's counter is off. Under the kernel lock.
var held uint64

// Hold stops the clock until Release: Now stands still and then continues from there, so that no
// deadline has come nearer. Wall tells the time of day again after Release. If the clock is already
// stopped, it does nothing and returns false. Kernel and early context, interrupts off; nobody may
// wait for a time meanwhile.
func Hold() bool {
	if held != going {
		return false
	}
	held = Counter()
	return true
}

// Release ends Hold.
func Release() {
	ticks := Counter() - held
	held = going
	zero += ticks
	wallZero += int64(toNanos.of(ticks))
}

// HaveRTC reports whether Wall began with a real-time clock's time.
func HaveRTC() bool { return haveRTC }

// TSCHz returns the frequency of the time stamp counter.
func TSCHz() uint64 { return tscHz }

// readWall sets the time of day from the real-time clock.
func readWall() {
	if !arch.HasRTC() {
		return
	}
	// Two equal readings outside of an update, which may take 2.3 ms; a clock that never stops
	// updating does not count. Time alone is no proof: an emulator's host may take the processor
	// away for all of it.
	const patience, looks = 10_000_000, 1000
	var last arch.RTC
	have := false
	start := Now()
	for i := 0; i < looks || Now()-start < patience; i++ {
		var r arch.RTC
		if r.Updating() {
			have = false
			continue
		}
		r.Read()
		if !have || r != last {
			last, have = r, true
			continue
		}
		if s, ok := r.Unix(); ok {
			wallZero, haveRTC = s*second-int64(Now()), true
		}
		return
	}
}

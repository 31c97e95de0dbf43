package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// The watchdog (option watchdog=SECONDS): a program that has read and written nothing
// for that long is taken for hung. The trace is of what it is doing, if it is doing
// anything, and of all its goroutines; then the machine ends as after any crash.

var (
	patience uint64 // ns; 0: no watchdog; set once at boot
	seen     uint64 // the program's activity when it was last looked at; under the kernel lock
	lastSeen uint64 // when it had changed; under the kernel lock
	looks    uint8  // how often the runtime was at work when the program was hung; under the kernel lock
)

func SetWatchdog() {
	if s, ok := option.Number("watchdog"); ok {
		patience, lastSeen = s*1e9, clock.Now()
	}
}

// Tick is called with the time whenever the timer is set, and returns when it wants to
// be called next: the interval timers, the profiler and the watchdog.
func Tick(now uint64) (next uint64) {
	next = min(linux.Tick(now), observe.NextSample(now))
	if patience == 0 {
		return next
	}
	if a := linux.Activity(); a != seen {
		seen, lastSeen = a, now
	}
	if now-lastSeen >= patience {
		// The trace needs an interrupt, to be of what that has interrupted.
		percpu.This().Hung = true
		return now
	}
	return min(next, lastSeen+patience)
}

// lookAgain reports whether f has interrupted the runtime's own work: who hangs is seen a
// millisecond later.
func lookAgain(f *arch.TrapFrame) bool {
	const pause = 1_000_000
	if !runtimeAtWork(f, &looks) {
		return false
	}
	percpu.This().Hung = false
	lastSeen = clock.Now() - patience + pause
	return true
}

// runtimeAtWork reports whether f has interrupted a thread that works for no goroutine: the
// runtime's monitor, say, which is at work for some µs now and then. It counts in looks how often
// that was so, and a runtime that is at work whenever one looks does not count.
func runtimeAtWork(f *arch.TrapFrame, looks *uint8) bool {
	const maxLooks = 50
	if *looks == maxLooks || f.InKernel() || stack.ForGoroutine(f.TLS) {
		return false
	}
	*looks++
	return true
}

// endHung ends a hung program, in which f has interrupted something, or nothing.
func endHung(f *arch.TrapFrame) {
	d := NextStage(tracer.KindPanic)
	d.Reason.Str("watchdog: the program has read and written nothing for ")
	d.Reason.Dec(patience / 1e9)
	d.Reason.Str(" s")
	first := uint64(0)
	if f.InKernel() {
		d.fromTrap(f)
		d.Cause = false
		first = d.fromStopped()
	} else {
		d.fromTrap(f)
		d.locateTrap(f)
		d.Cause = false
	}
	WriteTrace()
	if first == 0 {
		first = d.Goroutine
	}
	ListGoroutines(first, false)
	EndMachine()
}

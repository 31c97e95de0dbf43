package kernel

import (
	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/tracer"
)

// The watchdog (option watchdog=SECONDS): a program that has read and written nothing
// for that long is taken for hung. The trace is of what it is doing, if it is doing
// anything, and of all its goroutines; then the machine ends as after any death.

var (
	patience uint64 // ns; 0: no watchdog
	seen     uint64 // the program's activity when it was last looked at
	lastSeen uint64 // when it had changed
	barking  bool
)

const maxPatience = 1 << 31

func setWatchdog() {
	value, ok := Option("watchdog")
	if !ok {
		return
	}
	s, ok := parseUint(value)
	if !ok || s > maxPatience {
		complain("watchdog", value, "want seconds")
		return
	}
	patience = s * 1e9
	lastSeen = clock.Now()
}

// tick is called with the time whenever the timer is set, and returns when it wants to
// be called next: the interval timers, the profiler and the watchdog.
func tick(now uint64) (next uint64) {
	next = min(linuxabi.Tick(now), sampleBy(now))
	if patience == 0 {
		return next
	}
	if a := linuxabi.Activity(); a != seen {
		seen, lastSeen = a, now
	}
	if now-lastSeen >= patience {
		// The trace needs an interrupt, to be of what that has interrupted.
		barking = true
		return now
	}
	return min(next, lastSeen+patience)
}

// bark ends a hung program, in which f has interrupted something, or nothing.
func bark(f *amd64.TrapFrame) {
	d := climb(tracer.KindPanic)
	d.reason.str("watchdog: the program has read and written nothing for ")
	d.reason.dec(patience / 1e9)
	d.reason.str(" s")
	first := uint64(0)
	if f.InKernel() {
		d.fromTrap(f)
		d.cause = false
		first = d.sleeper()
	} else {
		d.fromTrap(f)
		d.placeTrap(f)
		d.cause = false
	}
	perform()
	if first == 0 {
		first = d.goroutine
	}
	listGoroutines(first, false)
	endFatal()
}

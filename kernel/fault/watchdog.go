package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// The watchdog (option watchdog=SECONDS): a program that has read and written nothing for that long
// counts as hung. The trace shows what it is doing, if anything, and all its goroutines; then the
// machine ends as after any crash.
//
// The kernel counts as hung if it has let no timer interrupt in for that long. Where the board has
// an alarm, which is an NMI, the timer's interrupt puts the alarm off again and again; if the alarm
// comes all the same, it checks the kernel.

var (
	alarm bool // the board has one; set once at boot
	// When it comes, 0: never, and when it is to be put off; under the kernel lock; the panic path
	// takes none.
	alarmAt, rewindAt uint64
	// The timer deadline that had passed when the alarm last came, in an NMI; panic path only.
	lateShot uint64

	// How often an idle CPU wakes up, in ns; 0: only when it has something to do; set once at boot.
	tick     uint64
	patience uint64 // ns; 0: no watchdog; set once at boot
	seen     uint64 // the program's activity at the last check; under the kernel lock
	lastSeen uint64 // when the activity last changed; under the kernel lock
	// How many checks found the runtime at work while the program hung; under the kernel lock.
	looks uint8
)

// SetWatchdog reads the options. Early context, once.
func SetWatchdog() {
	if ms, ok := option.Number("tick"); ok {
		tick = ms * 1e6
	}
	if s, ok := option.Number("watchdog"); ok {
		patience, lastSeen = s*1e9, clock.Now()
		alarm = s != 0 && arch.LocalInterrupts() &&
			arch.InitAlarm(mem.MapDevice(arch.LineRegisters, arch.PageSize) != 0 &&
				mem.MapDevice(arch.AlarmRegisters(), arch.PageSize) != 0)
	}
}

// Tick runs the interval timers, the profiler and the watchdog. It is called with the time whenever
// the timer is set, and returns when it wants to be called next, in nanoseconds since boot.
func Tick(now uint64) (next uint64) {
	percpu.AssertLocked()
	next = min(linux.Tick(now), observe.NextSample(now), lookAtCPUs(now))
	if tick != 0 {
		next = min(next, now+tick)
	}
	if patience == 0 {
		return next
	}
	if alarm {
		next = min(next, putOffAlarm(now))
	}
	if a := linux.Activity(); a != seen {
		seen, lastSeen = a, now
	}
	if now-lastSeen >= patience {
		// The trace must be of what an interrupt interrupted.
		percpu.This().Hung = true
		return now
	}
	return min(next, lastSeen+patience)
}

// longestAlarm is the furthest that the alarm is put off, in ns.
const longestAlarm = 10e9

// putOffAlarm puts the alarm off, if it is time for that, and returns when it is next to be called.
func putOffAlarm(now uint64) uint64 {
	if now >= rewindAt {
		wait := min(patience, longestAlarm)
		setAlarm(now, wait)
		rewindAt = now + wait/2
	}
	return rewindAt
}

// setAlarm makes the alarm come in wait nanoseconds. Its clock and now's differ a little.
func setAlarm(now, wait uint64) {
	arch.SetAlarm(wait)
	alarmAt = now + wait - wait/32
}

// startAlarm sets the alarm for the first time, or again after stopAlarm, which is for work that
// takes long with interrupts off.
func startAlarm() {
	if alarm {
		rewindAt = 0
		putOffAlarm(clock.Now())
	}
}

func stopAlarm() {
	if alarm {
		arch.StopAlarm()
		alarmAt = 0
	}
}

// alarmed handles an NMI. It reports whether the alarm caused it. It does not return if the kernel
// hangs: if the timer's interrupt was due long ago, and was already due when the alarm came before.
// On a machine that its host did not let run, the NMI may come first, but then the timer's
// interrupt comes before the next alarm.
func alarmed(f *arch.TrapFrame) bool {
	now := clock.Now()
	if alarmAt == 0 || now < alarmAt {
		return false
	}
	if due := percpu.This().Shot; now > due && now-due >= patience {
		if due == lateShot {
			endKernelHung(f, now-due)
		}
		lateShot = due
	}
	setAlarm(now, min(patience, longestAlarm)/4)
	return true
}

// endKernelHung ends a machine whose kernel hangs at f.
func endKernelHung(f *arch.TrapFrame, late uint64) {
	d := NextStage(tracer.KindPanic)
	d.atTrap(f)
	d.Cause = false
	d.Reason.Str("watchdog: the kernel has let no interrupt of its timer in for ")
	d.Reason.Dec(late / 1e9)
	d.Reason.Str(" s")
	WriteTrace()
	ListGoroutines(d.Goroutine, false)
	EndMachine()
}

// lookAgain reports whether f interrupted the runtime's own work: then the next check, a
// millisecond later, finds who hangs. The pauses grow, so that a program which does the same again
// and again is not met at the same place each time.
func lookAgain(f *arch.TrapFrame) bool {
	percpu.AssertLocked()
	const pause, more = 1_000_000, 37_000 // ns
	if !runtimeAtWork(f, &looks) {
		return false
	}
	percpu.This().Hung = false
	lastSeen = clock.Now() - patience + pause + more*uint64(looks)
	return true
}

// runtimeAtWork reports whether f interrupted a thread that works for no goroutine, for example the
// runtime's monitor, which runs for some µs now and then, or the handler of a signal, with which
// the monitor interrupts a goroutine that runs for long. It counts in looks how often that was so.
// If the runtime is at work at every check, it reports false.
func runtimeAtWork(f *arch.TrapFrame, looks *uint8) bool {
	const maxLooks = 50
	if *looks == maxLooks || f.InKernel() ||
		stack.ForGoroutine(f.TLS) && !thread.Current().HandlesSignal(f.SP) {
		return false
	}
	*looks++
	return true
}

// endHung ends a hung program; f is what was interrupted, possibly an idle CPU.
func endHung(f *arch.TrapFrame) {
	d := NextStage(tracer.KindPanic)
	d.Reason.Str("watchdog: the program has read and written nothing for ")
	d.Reason.Dec(patience / 1e9)
	d.Reason.Str(" s")
	first := uint64(0)
	d.atTrap(f)
	d.Cause = false
	if f.InKernel() {
		first = d.fromStopped()
	} else {
		d.hung = true
	}
	WriteTrace()
	if first == 0 {
		first = d.Goroutine
	}
	ListGoroutines(first, false)
	EndMachine()
}

package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// How the monitor is entered (package monitor): in an interrupt caused by ^], and after a fatal
// trace. That package imports this one, so its entry is an address that is set at boot.

var (
	Stop    Details    // what was interrupted; under the kernel lock
	StopWhy StopReason // under the kernel lock
	Nested  int        // number of open monitors; under the kernel lock

	// monitorEntry is the address of the function that opens the monitor, or 0.
	monitorEntry uintptr // set once at boot
)

// OnStop sets the function that opens the monitor. It must be a top-level function. Early context.
// Not inlined, like [OnInterrupt].
//
//go:noinline
func OnStop(f func(why StopReason)) { monitorEntry = arch.EntryOf(f) }

func callMonitor(why StopReason) {
	if monitorEntry != 0 {
		stopAlarm()
		arch.FuncAt[func(StopReason)](&monitorEntry)(why)
		startAlarm()
	}
}

// StopAt records the return address ra of a call as the place that was interrupted.
func StopAt(ra, sp, fp uintptr) {
	percpu.AssertLocked()
	Stop = Details{}
	Stop.locate()
	Stop.callerAt(ra, sp, fp)
}

// StopReason says what opened the monitor.
type StopReason uint8

const (
	StopKey   StopReason = iota // ^], while the program ran
	StopBoot                    // before the program
	StopFatal                   // after a fatal trace
)

// monitorOnKey opens the monitor in an interrupt that ^] caused, or soon after it.
func monitorOnKey(f *arch.TrapFrame) {
	percpu.AssertLocked()
	for linux.TakeAttention() {
		Stop = Details{}
		Stop.locate()
		Stop.atTrap(f)
		Stop.Cause = false
		callMonitor(StopKey)
		linux.Pump() // what was typed after the monitor's last line
	}
}

// monitorAfterTrace opens the monitor after a fatal trace; when it is left, the machine ends. It
// returns at once if the kernel has died in a monitor that was opened this way.
func monitorAfterTrace() {
	percpu.AssertLocked()
	s := stage()
	if Nested > 1 || s == noStage || s > StageLine {
		return
	}
	Stop = stageDetails[s-1]
	LeaveStages()
	callMonitor(StopFatal)
}

package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The timer that interrupts when a time is over: the local APIC's (SDM Vol. 3A, 10.5.4), or the PIT
// if there is no local APIC. Early and kernel context, interrupts off.

// timer is one of these timers.
type timer uint8

const (
	timerNone timer = iota
	timerDeadline
	timerAPIC
	timerPIT
)

// Set once at boot.
var (
	used   timer
	apicHz uint64 // ticks of the local APIC's timer in a second, 0 if it is dead
)

// Bits of the timer's entry in the local vector table.
const (
	lvtMasked      = 1 << 16
	lvtTSCDeadline = 2 << 17
)

// msrTSCDeadline holds the time stamp at which the APIC's timer interrupts in
// TSC-deadline mode; 0 is never.
const msrTSCDeadline = 0x6e0

// ChooseTimer chooses the best timer that works; it interrupts with InterruptTimer. It returns the
// frequency of its ticks, and the most ticks that StartTimer accepts. counterHz is MeasureCounter's
// result.
func ChooseTimer(counterHz uint64) (hz, most uint64) {
	const hasDeadline = 1 << 24 // CPUID.1:ECX
	_, _, ecx, _ := amd64.CPUID(1, 0)
	switch {
	case apic != 0 && ecx&hasDeadline != 0 && deadlineWaits(counterHz):
		used = timerDeadline
		return counterHz, 1 << 63
	case apic != 0 && apicHz != 0:
		used = timerAPIC
		oneShot(InterruptTimer)
		return apicHz, 1<<32 - 1
	case apic == 0 && pitRound():
		used = timerPIT
		pitStop()
		unmaskPIC(irqTimer)
		return pitHz, 1<<16 - 1
	}
	used = timerNone
	return counterHz, 0
}

// deadlineWaits makes the APIC's timer interrupt at a time stamp, stops it, and reports whether it
// waited for the time: after a reset, which sets the TSC to 0, Bochs 2.7 treats every deadline as
// past (apic.cc, set_tsc_deadline). Then an interrupt is left pending, which does nothing. An APIC
// without a counter of its own has no other timer, so it is not tried.
func deadlineWaits(counterHz uint64) bool {
	writeAPIC(apicLVTTimer, lvtTSCDeadline|InterruptTimer)
	// The store must be done before the MSR is written (SDM Vol. 3A, 10.5.4.1); CPUID waits for it.
	amd64.CPUID(0, 0)
	early := false
	if apicHz != 0 {
		start := amd64.ReadTSC()
		writeMSR(msrTSCDeadline, start+counterHz/100)
		for amd64.ReadTSC()-start < counterHz/100_000 {
		}
		early = readAPIC(apicRequest+InterruptTimer/32*0x10)>>(InterruptTimer%32)&1 != 0
	}
	writeMSR(msrTSCDeadline, 0)
	return !early
}

// JoinTimer sets up the timer of a CPU that was started, as ChooseTimer did on the first one.
// LocalInterrupts.
func JoinTimer() {
	switch used {
	case timerDeadline:
		writeAPIC(apicLVTTimer, lvtTSCDeadline|InterruptTimer)
		amd64.CPUID(0, 0) // as in deadlineWaits
	case timerAPIC:
		oneShot(InterruptTimer)
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

// StartTimer makes the timer interrupt once, after that many of its ticks (1 or more). now is a
// value of ReadTSC. It replaces an earlier request.
func StartTimer(now, ticks uint64) {
	switch used {
	case timerDeadline:
		writeMSR(msrTSCDeadline, now+ticks)
	case timerAPIC:
		startAPIC(uint32(ticks))
	case timerPIT:
		pitShot(uint16(ticks))
	}
}

// StopTimer cancels that, though a PIT may still interrupt.
func StopTimer() {
	switch used {
	case timerDeadline:
		writeMSR(msrTSCDeadline, 0)
	case timerAPIC:
		startAPIC(0)
	case timerPIT:
		pitStop()
	}
}

// oneShot makes the APIC's timer count down at the APIC's own frequency and interrupt with the
// given vector at 0; with vector 0 it counts without an interrupt. The timer stands still until
// startAPIC.
func oneShot(vector uint8) {
	const by1 = 0xb // divide configuration: no division
	writeAPIC(apicInitial, 0)
	writeAPIC(apicDivide, by1)
	if vector == 0 {
		writeAPIC(apicLVTTimer, lvtMasked)
		return
	}
	writeAPIC(apicLVTTimer, uint32(vector))
}

// startAPIC starts a one-shot timer of count ticks; 0 stops it.
func startAPIC(count uint32) { writeAPIC(apicInitial, count) }

// apicTimer returns the remaining ticks.
func apicTimer() uint32 { return readAPIC(apicCurrent) }

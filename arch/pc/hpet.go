package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// One timer of the HPET (IA-PC HPET specification 1.0a), by which a CPU that takes no
// interrupts any more gets an NMI: the I/O APIC delivers its interrupt as one. Early and kernel
// context.

// AlarmRegisters is the physical address of the HPET's registers; the page is to be mapped, uncached.
const AlarmRegisters = 0xfed00000

// hpet returns the address of the register at an offset.
func hpet(offset uintptr) uintptr { return amd64.Virtual(AlarmRegisters) + offset }

// Offsets of its registers, of 64 bits each, in bytes. They are read and written by halves.
const (
	hpetID         = 0x000
	hpetConfig     = 0x010
	hpetCounter    = 0x0f0
	hpetTimer      = 0x100 // timer 0: configuration
	hpetComparator = 0x108
)

// hpetTimerOn is in the lower half of a timer's configuration; all else that is wanted of one is 0.
const hpetTimerOn = 1 << 2

// alarmHz is how fast the HPET counts. Set once at boot.
var alarmHz uint64

// InitAlarm makes the HPET's timer ready for [SetAlarm]. It returns false where there is none
// that can raise NMIs. mapped says that AlarmRegisters and LineRegisters are.
func InitAlarm(mapped bool) bool {
	const (
		femto, slowest = 1_000_000_000_000_000, 100_000_000 // fs in a second, and in the longest period
		wide, replaces = 1 << 5, 1 << 15                    // timer 0 compares 64 bits; it can replace the PIT
		enable, legacy = 1 << 0, 1 << 1
		pitInput       = 2 // of the I/O APIC
	)
	if !mapped || apic == 0 || used == timerPIT {
		return false
	}
	// A bus without a device reads all ones or zeros.
	period := uint64(amd64.Load32(hpet(hpetID + 4)))
	if period == 0 || period > slowest || amd64.Load32(hpet(hpetID))&replaces == 0 || amd64.Load32(hpet(hpetTimer))&wide == 0 {
		return false
	}
	// In the place of the PIT, which may have a shot under way (see pitStop).
	StopAlarm()
	amd64.Store32(hpet(hpetConfig), enable|legacy)
	alarmHz = femto / period
	return routeNMI(amd64.Virtual(LineRegisters), pitInput)
}

// SetAlarm makes an NMI come in ns nanoseconds. It replaces the one before. InitAlarm.
func SetAlarm(ns uint64) {
	StopAlarm()
	hi := amd64.Load32(hpet(hpetCounter + 4))
	lo := amd64.Load32(hpet(hpetCounter))
	if again := amd64.Load32(hpet(hpetCounter + 4)); again != hi {
		hi, lo = again, 0
	}
	at := uint64(hi)<<32 + uint64(lo) + mulDiv(ns, alarmHz, second)
	amd64.Store32(hpet(hpetComparator+4), uint32(at>>32))
	amd64.Store32(hpet(hpetComparator), uint32(at))
	amd64.Store32(hpet(hpetTimer), hpetTimerOn)
}

// StopAlarm takes that back.
func StopAlarm() { amd64.Store32(hpet(hpetTimer), 0) }

package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The HPET (IA-PC HPET specification 1.0a): its counter, against which others are measured, and one
// of its timers, by which a CPU that takes no interrupts any more gets an NMI: the I/O APIC delivers
// its interrupt as one. Early and kernel context.

// hpet is the physical address of its registers: where it usually is, unless ACPI says otherwise; 0 if ACPI
// says that there is none. Set once at boot.
var hpet uintptr = 0xfed00000

// AlarmRegisters returns the physical address of the HPET's registers; the page is to be mapped, uncached.
// 0: there is none. FindCPUs.
func AlarmRegisters() uintptr { return hpet }

// hpetRegister returns the address of the register at an offset.
func hpetRegister(offset uintptr) uintptr { return amd64.Virtual(hpet) + offset }

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

// Bits of hpetConfig's lower half.
const (
	hpetEnable = 1 << 0
	hpetLegacy = 1 << 1
)

// alarmHz is how fast the HPET counts. hpetWas is what hpetConfig was before hpetStart. Set once at
// boot.
var (
	alarmHz uint64
	hpetWas uint32
)

// readHPET takes the registers' address from ACPI's table of the HPET (IA-PC HPET specification, 3.2.4).
func readHPET(b []byte) {
	const space, address, size, memory = tableHead + 4, tableHead + 8, tableHead + 20, 0
	hpet = 0
	if len(b) >= size && b[space] == memory && le64(b[address:]) < 4<<30 {
		hpet = uintptr(le64(b[address:])) &^ (amd64.PageSize - 1)
	}
}

// hpetHz returns how fast the HPET counts, 0 if it names no period that is possible, and whether it is
// there at all: a bus without a device reads all ones or zeros.
func hpetHz() (hz uint64, there bool) {
	const femto = 1_000_000_000_000_000          // fs in a second
	const fastest, slowest = 50_000, 100_000_000 // fs; the slowest is the specification's
	id, period := amd64.Load32(hpetRegister(hpetID)), uint64(amd64.Load32(hpetRegister(hpetID+4)))
	if id == 0 && period == 0 || id == ^uint32(0) {
		return 0, false
	}
	if period < fastest || period > slowest {
		return 0, true
	}
	return femto / period, true
}

// hpetStart has the HPET count, at hz, if hpetHz knows that. hpetStop.
func hpetStart() (hz uint64, there bool) {
	if hz, there = hpetHz(); hz != 0 {
		hpetWas = amd64.Load32(hpetRegister(hpetConfig))
		amd64.Store32(hpetRegister(hpetConfig), hpetWas|hpetEnable)
	}
	return hz, there
}

// hpetStop takes that back.
func hpetStop() { amd64.Store32(hpetRegister(hpetConfig), hpetWas) }

// hpetCount returns the lower half of its counter.
func hpetCount() uint32 { return amd64.Load32(hpetRegister(hpetCounter)) }

// InitAlarm makes the HPET's timer ready for [SetAlarm]. It returns false where there is none
// that can raise NMIs. mapped says that AlarmRegisters and LineRegisters are.
func InitAlarm(mapped bool) bool {
	const (
		wide, replaces = 1 << 5, 1 << 15 // timer 0 compares 64 bits; it can replace the PIT
		pitInput       = 2               // of the I/O APIC
	)
	if !mapped || apic == 0 || used == timerPIT {
		return false
	}
	hz, _ := hpetHz()
	if hz == 0 || amd64.Load32(hpetRegister(hpetID))&replaces == 0 || amd64.Load32(hpetRegister(hpetTimer))&wide == 0 {
		return false
	}
	// In the place of the PIT, which may have a shot under way (see pitStop).
	StopAlarm()
	amd64.Store32(hpetRegister(hpetConfig), hpetEnable|hpetLegacy)
	alarmHz = hz
	return routeNMI(amd64.Virtual(LineRegisters), pitInput)
}

// SetAlarm makes an NMI come in ns nanoseconds. It replaces the one before. InitAlarm.
func SetAlarm(ns uint64) {
	StopAlarm()
	hi := amd64.Load32(hpetRegister(hpetCounter + 4))
	lo := amd64.Load32(hpetRegister(hpetCounter))
	if again := amd64.Load32(hpetRegister(hpetCounter + 4)); again != hi {
		hi, lo = again, 0
	}
	at := uint64(hi)<<32 + uint64(lo) + mulDiv(ns, alarmHz, second)
	amd64.Store32(hpetRegister(hpetComparator+4), uint32(at>>32))
	amd64.Store32(hpetRegister(hpetComparator), uint32(at))
	amd64.Store32(hpetRegister(hpetTimer), hpetTimerOn)
}

// StopAlarm takes that back.
func StopAlarm() { amd64.Store32(hpetRegister(hpetTimer), 0) }

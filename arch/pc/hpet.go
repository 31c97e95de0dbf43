package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The HPET (IA-PC HPET specification 1.0a): its counter, a reference for measurements, and one of
// its timers, which sends an NMI to a CPU that no longer takes interrupts: the I/O APIC delivers
// its interrupt as an NMI. Early and kernel context.

// hpet is the physical address of its registers: the usual one, unless ACPI says otherwise; 0 if
// ACPI says that there is none. Set once at boot.
var hpet uintptr = 0xfed00000

// AlarmRegisters returns the physical address of the HPET's registers, whose page must be mapped
// uncached; 0: there is none. Call FindCPUs first.
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

// hpetTimerOn is in the lower half of a timer's configuration; all other bits that we need are 0.
const hpetTimerOn = 1 << 2

// Bits of hpetConfig's lower half.
const (
	hpetEnable = 1 << 0
	hpetLegacy = 1 << 1
)

// alarmHz is the HPET's frequency. hpetWas is hpetConfig before hpetStart. Set once at boot.
var (
	alarmHz uint64
	hpetWas uint32
)

// readHPET reads the registers' address from ACPI's table of the HPET (IA-PC HPET specification,
// 3.2.4).
func readHPET(b []byte) {
	const space, address, size, memory = tableHead + 4, tableHead + 8, tableHead + 20, 0
	hpet = 0
	if len(b) >= size && b[space] == memory && le64(b[address:]) < 4<<30 {
		hpet = uintptr(le64(b[address:])) &^ (amd64.PageSize - 1)
	}
}

// hpetHz returns the HPET's frequency, 0 if it names no possible period, and whether it exists at
// all: a bus without a device reads all ones or zeros.
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

// hpetStart makes the HPET count, and returns its frequency if that is known. hpetStop ends it.
func hpetStart() (hz uint64, there bool) {
	if hz, there = hpetHz(); hz != 0 {
		hpetWas = amd64.Load32(hpetRegister(hpetConfig))
		amd64.Store32(hpetRegister(hpetConfig), hpetWas|hpetEnable)
	}
	return hz, there
}

// hpetStop restores hpetConfig.
func hpetStop() { amd64.Store32(hpetRegister(hpetConfig), hpetWas) }

// hpetCount returns the lower half of its counter.
func hpetCount() uint32 { return amd64.Load32(hpetRegister(hpetCounter)) }

// InitAlarm sets up the HPET's timer for [SetAlarm]. It returns false if there is none that can
// raise NMIs. mapped says that AlarmRegisters and LineRegisters are mapped.
func InitAlarm(mapped bool) bool {
	const (
		wide, replaces = 1 << 5, 1 << 15 // timer 0 compares 64 bits; it can replace the PIT
		pitInput       = 2               // of the I/O APIC
	)
	if !mapped || apic == 0 || used == timerPIT {
		return false
	}
	hz, _ := hpetHz()
	if hz == 0 || amd64.Load32(hpetRegister(hpetID))&replaces == 0 ||
		amd64.Load32(hpetRegister(hpetTimer))&wide == 0 {
		return false
	}
	// It replaces the PIT, which may have a shot under way (see pitStop).
	StopAlarm()
	amd64.Store32(hpetRegister(hpetConfig), hpetEnable|hpetLegacy)
	alarmHz = hz
	return routeNMI(amd64.Virtual(LineRegisters), pitInput)
}

// SetAlarm makes an NMI come in ns nanoseconds, in place of an earlier alarm. Call InitAlarm first.
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

// StopAlarm cancels the alarm.
func StopAlarm() { amd64.Store32(hpetRegister(hpetTimer), 0) }

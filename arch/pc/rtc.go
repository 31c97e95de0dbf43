package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The real-time clock (Motorola MC146818A data sheet): the time of day, to the
// second, in a battery-backed chip behind two ports. Early and kernel context.

const (
	rtcIndex = 0x70
	rtcData  = 0x71

	rtcStatusA = 0x0a
	rtcStatusB = 0x0b
	rtcStatusD = 0x0d

	rtcUpdating = 1 << 7 // status A
	rtc24Hours  = 1 << 1 // status B
	rtcBinary   = 1 << 2 // status B
	rtcPM       = 1 << 7 // hours, in 12-hour format
)

// RTC holds the registers of a real-time clock.
type RTC struct {
	Second, Minute, Hour, Day, Month, Year, Century uint8
	StatusB                                         uint8 // format of the others
}

func readRTC(reg uint8) uint8 {
	amd64.Out8(rtcIndex, reg)
	return amd64.In8(rtcData)
}

// HasRTC reports whether a clock answers at the RTC's ports and has not lost its
// time.
func HasRTC() bool {
	const valid = 1 << 7 // status D; the other bits are always 0
	return readRTC(rtcStatusD) == valid
}

// Updating reports whether the clock is about to advance to the next second, or is doing so; its
// registers must not be read then. That takes up to 2.3 ms.
func (r *RTC) Updating() bool { return readRTC(rtcStatusA)&rtcUpdating != 0 }

// Read reads the registers. An update may come in between, so they are valid only if a second
// reading gives the same.
func (r *RTC) Read() {
	// ACPI's tables would name register 0x32 for the century.
	r.Second, r.Minute, r.Hour = readRTC(0x00), readRTC(0x02), readRTC(0x04)
	r.Day, r.Month, r.Year, r.Century = readRTC(0x07), readRTC(0x08), readRTC(0x09), readRTC(0x32)
	r.StatusB = readRTC(rtcStatusB)
}

// Unix returns the time in seconds since 1970, assuming that the clock is in UTC; ok is false if
// the registers hold no time. A year without a century is one of 1970 to 2069.
func (r *RTC) Unix() (seconds int64, ok bool) {
	hour, pm := r.Hour, false
	if r.StatusB&rtc24Hours == 0 {
		hour, pm = hour&^rtcPM, hour&rtcPM != 0
	}
	h, okHour := r.value(hour)
	if r.StatusB&rtc24Hours == 0 {
		if h < 1 || h > 12 {
			return 0, false
		}
		h %= 12 // 12 is the hour before 1
		if pm {
			h += 12
		}
	}
	sec, okSec := r.value(r.Second)
	min, okMin := r.value(r.Minute)
	day, okDay := r.value(r.Day)
	month, okMonth := r.value(r.Month)
	year, okYear := r.value(r.Year)
	if !okHour || !okSec || !okMin || !okDay || !okMonth || !okYear {
		return 0, false
	}
	if century, okCentury := r.value(r.Century); okCentury && century >= 19 && century <= 29 {
		year += 100 * century
	} else if year < 70 {
		year += 2000
	} else {
		year += 1900
	}
	if sec > 59 || min > 59 || h > 23 || month < 1 || month > 12 || day < 1 ||
		day > daysIn(month, year) {
		return 0, false
	}
	return (daysSince1970(year, month, day)*24+h)*3600 + min*60 + sec, true
}

// value decodes a register.
//
//go:noinline
func (r *RTC) value(b uint8) (v int64, ok bool) {
	if r.StatusB&rtcBinary != 0 {
		return int64(b), b <= 99
	}
	return int64(b>>4)*10 + int64(b&15), b>>4 <= 9 && b&15 <= 9
}

func leap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(month, year int64) int64 {
	switch month {
	case 2:
		if leap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts the days before a date of 1900 or later.
func daysSince1970(year, month, day int64) int64 {
	y := year - 1 // leap days fall into the years before this one
	days := (year-1970)*365 + (y/4 - y/100 + y/400) - (1969/4 - 1969/100 + 1969/400)
	for m := int64(1); m < month; m++ {
		days += daysIn(m, year)
	}
	return days + day - 1
}

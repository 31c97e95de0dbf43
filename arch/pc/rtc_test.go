package pc

import (
	"testing"
	"time"
)

func bcd(v int) uint8 { return uint8(v/10<<4 | v%10) }

// TestRTCFormats writes each day and each hour from 1970 to 2100 in the clock's four formats, and
// compares the result with package time.
func TestRTCFormats(t *testing.T) {
	end := time.Date(2100, 3, 2, 0, 0, 0, 0, time.UTC)
	hours := 0
	for at := time.Date(1970, 1, 1, 0, 59, 58, 0, time.UTC); at.Before(end); at = at.Add(25 * time.Hour) {
		hours++
		for format := uint8(0); format < 4; format++ {
			b := format << 1
			code := bcd
			if b&rtcBinary != 0 {
				code = func(v int) uint8 { return uint8(v) }
			}
			hour := code(at.Hour())
			if b&rtc24Hours == 0 {
				h := at.Hour() % 12
				if h == 0 {
					h = 12
				}
				hour = code(h)
				if at.Hour() >= 12 {
					hour |= rtcPM
				}
			}
			r := RTC{code(at.Second()), code(at.Minute()), hour, code(at.Day()), code(int(at.Month())),
				code(at.Year() % 100), code(at.Year() / 100), b}
			if got, ok := r.Unix(); !ok || got != at.Unix() {
				t.Fatalf("%v in format %d, %+v: %d, %v; want %d", at, format, r, got, ok, at.Unix())
			}
			r.Century = 0xff
			if got, _ := r.Unix(); at.Year() < 2070 && got != at.Unix() {
				t.Fatalf("%v without a century: %d; want %d", at, got, at.Unix())
			}
		}
	}
	if hours < 40000 {
		t.Errorf("compared %d times; want 40000", hours)
	}
}

// TestRTCNoTime: registers that hold no time are refused.
func TestRTCNoTime(t *testing.T) {
	good := RTC{0x59, 0x30, 0x23, 0x28, 0x02, 0x26, 0x20, rtc24Hours}
	if _, ok := good.Unix(); !ok {
		t.Fatalf("%+v is refused", good)
	}
	for _, change := range []func(*RTC){
		func(r *RTC) { *r = RTC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} },
		func(r *RTC) { *r = RTC{} },
		func(r *RTC) { r.Second = 0x60 },
		func(r *RTC) { r.Second = 0x5a },
		func(r *RTC) { r.Minute = 0x60 },
		func(r *RTC) { r.Hour = 0x24 },
		func(r *RTC) { r.Hour, r.StatusB = 0x13, 0 },
		func(r *RTC) { r.Hour, r.StatusB = 0, 0 },
		func(r *RTC) { r.Day = 0x29 }, // 2026 is no leap year
		func(r *RTC) { r.Day = 0 },
		func(r *RTC) { r.Month = 0x13 },
		func(r *RTC) { r.Month = 0 },
		func(r *RTC) { r.Year = 0xa0 },
	} {
		r := good
		change(&r)
		if s, ok := r.Unix(); ok {
			t.Errorf("%+v is %d; want no time", r, s)
		}
	}
}

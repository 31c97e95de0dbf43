package qemu

// The time, as a program sees it: the date, a clock that never goes back, timers; and
// that a machine with nothing to do does nothing.

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clocked runs testdata/calls/clocks to its end and returns what it has said.
func clocked(t *testing.T, cfg Config, mode string) string {
	t.Helper()
	cfg.Kernel = program(t, "calls/clocks")
	cfg.Append += " -- " + mode
	vm, out := start(t, cfg, "")
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Errorf("%s with %s: %v, status %d, %v; want status 0", mode, cfg.Append, res.Outcome, res.Program, err)
	}
	return said(out.String())
}

// timers are machines that interrupt in different ways, and what the boot report says of
// each.
var timerMachines = []struct {
	name  string
	cfg   Config
	timer string
}{
	{"APIC", Config{}, "timer lapic"},
	{"PIT", Config{Machine: "pc", CPU: "qemu64,-apic"}, "timer pit"},
	{"microvm", Config{Machine: "microvm"}, "timer lapic"},
}

// TestDate: the program's clock is the host's, within two seconds: the machine's counts
// whole ones. The program looks at it between two moments of the host.
func TestDate(t *testing.T) {
	t.Parallel()
	for _, m := range timerMachines {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cfg := m.cfg
			cfg.Kernel, cfg.Append = program(t, "calls/clocks"), "-- ask"
			keys, out, vm := startTyped(t, cfg)
			out.For(t, "ready\r\n")
			before := time.Now()
			io.WriteString(keys, "\r")
			out.For(t, "now ")
			after := time.Now()
			if _, err := vm.Wait(); err != nil {
				t.Fatal(err)
			}
			f := regexp.MustCompile(`now (\d+)`).FindStringSubmatch(out.String())
			if f == nil {
				t.Fatal("the program did not say what time it is")
			}
			if !strings.Contains(out.String(), m.timer) || strings.Contains(out.String(), "no real-time clock") {
				t.Errorf("the boot report does not say %q", m.timer)
			}
			ns, _ := strconv.ParseInt(f[1], 10, 64)
			if now := time.Unix(0, ns); now.Before(before.Add(-2*time.Second)) || now.After(after.Add(time.Second)) {
				t.Errorf("the program's clock says %v; by the host's it was asked after %v and answered before %v", now, before, after)
			}
		})
	}
}

// TestDateGiven: the option time= is for machines that do not know the date, and is
// believed by others, too.
func TestDateGiven(t *testing.T) {
	t.Parallel()
	without := Config{Machine: "microvm,auto-kernel-cmdline=off,rtc=off"}
	for _, tt := range []struct {
		cfg     Config
		options string
		want    int64 // seconds
		says    string
	}{
		{without, "", 0, ""},
		{without, "time=1000000000", 1_000_000_000, ""},
		{Config{}, "time=1000000000", 1_000_000_000, ""},
		{Config{}, "time=8589934591", 8_589_934_591, ""},
		{without, "time=tomorrow", 0, "time=tomorrow is ignored: want seconds since 1970\n"},
		{without, "time=-5", 0, "time=-5 is ignored: want seconds since 1970\n"},
		{without, "time=8589934592", 0, "time=8589934592 is ignored: want seconds since 1970\n"},
	} {
		cfg := tt.cfg
		cfg.Append = tt.options
		text := clocked(t, cfg, "wall")
		rest, ok := strings.CutPrefix(text, tt.says+"now ")
		ns, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		if !ok || err != nil || ns/1e9 < tt.want || ns/1e9 > tt.want+20 {
			t.Errorf("%q on %q: %q; want %q and %d s", tt.options, cfg.Machine, text, tt.says, tt.want)
		}
	}
}

// TestClocks: what measures time never goes back, not even when the date is set, and
// timers are never too early.
func TestClocks(t *testing.T) {
	t.Parallel()
	for _, m := range timerMachines {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			text := clocked(t, m.cfg, "monotonic")
			var reads int
			if f := regexp.MustCompile(`^read (\d+) times\n$`).FindStringSubmatch(text); f != nil {
				reads, _ = strconv.Atoi(f[1])
			}
			if reads < 1000 {
				t.Errorf("the clock was not read often: %q", text)
			}
			cfg := m.cfg
			cfg.Extra = virtualTime
			if text := clocked(t, cfg, "set"); text != "set\n" {
				t.Errorf("the date could not be set: %q", text)
			}
			text = clocked(t, cfg, "timers")
			late := 1 << 30
			if f := regexp.MustCompile(`^none too early, late by (\d+) ms\n$`).FindStringSubmatch(text); f != nil {
				late, _ = strconv.Atoi(f[1])
			}
			if late > 5 {
				t.Errorf("timers: %q; want them late by 5 ms at most", text)
			}
		})
	}
}

// TestTickless: while a program sleeps there is nothing to interrupt for. A PIT counts
// 55 ms at most, so that it interrupts 18 times a second.
func TestTickless(t *testing.T) {
	t.Parallel()
	for _, m := range timerMachines {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			// Seconds. Before the sleep a start takes a few interrupts more or fewer, by how
			// fast QEMU takes what goes to the serial port: the long sleep is for many.
			const short, long = 1, 40
			count := func(seconds int) int {
				cfg := m.cfg
				path := filepath.Join(t.TempDir(), "interrupts")
				cfg.Extra = append([]string{"-d", "int", "-D", path}, virtualTime...)
				if text := clocked(t, cfg, "sleep "+strconv.Itoa(seconds)+"s"); text != "slept\n" {
					t.Fatalf("the program says %q", text)
				}
				all, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				// v is the vector; i=0 tells interrupts and faults from INT.
				return len(regexp.MustCompile(`(?m)^ *\d+: v=(40|20) e=0000 i=0 cpl=0`).FindAll(all, -1))
			}
			most := 2
			if m.timer == "timer pit" {
				most = 20
			}
			a, b := count(short), count(long)
			if a == 0 {
				t.Fatal("the timer has not interrupted at all")
			}
			if b-a > most*(long-short) {
				t.Errorf("%d timer interrupts in %d s of sleep, %d in %d s; want at most %d more a second", a, short, b, long, most)
			}
		})
	}
}

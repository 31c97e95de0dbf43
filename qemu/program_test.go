package qemu

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A program that checks for itself what the Go runtime and the kernel give it, on each
// machine.

var slept = regexp.MustCompile(`slept (\d+) ms at (\d+)\r\n`)

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, goamd64 string
		cfg           Config
	}{
		{"q35", "", Config{Machine: "q35"}},
		{"pc 5000 MiB", "", Config{Machine: "pc", MemoryMiB: 5000}},
		{"q35 4096 MiB", "", Config{Machine: "q35", MemoryMiB: 4096}},
		{"microvm", "", Config{Machine: "microvm"}},
		{"no APIC", "", Config{Machine: "q35", CPU: "qemu64,-apic"}},
		{"every feature", "", Config{Machine: "q35", CPU: "max"}},
		{"GOAMD64=v3", "v3", Config{Machine: "q35", CPU: "max"}},
		{"16 MiB", "", Config{Machine: "q35", MemoryMiB: 16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var env []string
			if tt.goamd64 != "" {
				env = append(env, "GOAMD64="+tt.goamd64)
			}
			runProgram(t, tt.cfg, program(t, "program", env...))
		})
	}
}

// runProgram boots the program, and checks what it says.
func runProgram(t *testing.T, cfg Config, path string) {
	t.Helper()
	cfg.Kernel = path
	began := time.Now()
	res, serial, err := boot(t, cfg, `env.GREETING="hello there" -- "a b" "\"q\"" "\\" "" ü`)
	if err != nil || res.Outcome != Exited || res.Program != 9 {
		t.Fatalf("the machine: %v, status %d, %v; want status 9", res.Outcome, res.Program, err)
	}
	m := slept.FindStringSubmatch(serial)
	if m == nil || strings.Count(serial, "\nok ") != 10 {
		t.Fatal("the program did not say all it should")
	}
	// How exact a sleep is, TestGoSleep says.
	if ms, _ := strconv.Atoi(m[1]); ms < 1000 {
		t.Errorf("a sleep of one second took %d ms", ms)
	}
	if s, _ := strconv.ParseInt(m[2], 10, 64); s < began.Unix()-2 || s > time.Now().Unix()+2 {
		t.Errorf("the program's clock says %d; the machine ran from %d to %d", s, began.Unix(), time.Now().Unix())
	}
}

// TestTooOldCPU: a program for a newer CPU says so.
func TestTooOldCPU(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v3", "v4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			vm, out := start(t, Config{Kernel: program(t, "program", "GOAMD64="+version)}, "")
			if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			if want := "zeroframe: built with GOAMD64=v3 or higher, for a newer CPU; build with a lower one\r\n"; !strings.HasSuffix(out.String(), want) {
				t.Errorf("the serial port has %q; want %q", out, want)
			}
		})
	}
}

package qemu

// What a program may touch: what Linux would let it.

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// outcomes reads the lines of testdata/wild.
func outcomes(text string) map[string]string {
	all := map[string]string{}
	for l := range strings.Lines(text) {
		if what, outcome, ok := strings.Cut(strings.TrimSpace(l), ": "); ok {
			all[what] = outcome
		}
	}
	return all
}

// TestWildPointers: what a program reads, writes, executes, and names in system calls at hundreds
// of addresses all over the address space has the outcome that it has on Linux, the address that
// recover tells included; and it can map pages where the machine has RAM and devices.
func TestWildPointers(t *testing.T) {
	t.Parallel()
	text, err := exec.Command(hostCommand(t, "./testdata/wild")).Output()
	if err != nil {
		t.Fatal(err)
	}
	linux := outcomes(string(text))
	for _, cfg := range []Config{
		{MemoryMiB: 128},
		{Machine: "pc", MemoryMiB: 6000, CPUs: 2, Extra: []string{"-vga", "std"}, Append: "console=both"},
	} {
		t.Run(fmt.Sprint(cfg.MemoryMiB, " ", max(cfg.CPUs, 1)), func(t *testing.T) {
			t.Parallel()
			cfg.Kernel = program(t, "wild")
			vm, serial := start(t, cfg, "")
			res, err := vm.Wait()
			kernel := outcomes(said(serial.String()))
			if err != nil || res.Outcome != Exited || res.Program != 0 {
				t.Fatalf("%v, status %d, %v", res.Outcome, res.Program, err)
			}
			alike := 0
			for what, got := range kernel {
				want, ok := linux[what]
				if strings.HasPrefix(what, "low ") {
					want, ok = "operation not permitted", true // for who is not root, as this may be
				}
				if ok && got != want {
					t.Errorf("%s: %s; on Linux %s", what, got, want)
				} else if ok {
					alike++
				}
			}
			// The two have their own memory at other addresses.
			if alike < 2200 {
				t.Errorf("%d outcomes are the same as on Linux, of %d there", alike, len(linux))
			}
		})
	}
}

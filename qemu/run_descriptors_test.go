package qemu

// Descriptors of special kinds, and bytes that go from one file to another in the kernel.

import (
	"os"
	"os/exec"
	"testing"
)

// descriptorsOnLinux holds what Linux says to the program, from `make test-calls`.
const descriptorsOnLinux = "testdata/calls/descriptors/linux.txt"

// TestDescriptors: timerfd, pidfd, splice, copy_file_range, statx, openat2 and
// the like do as on Linux, line by line.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/descriptors")
	if *callsTable != "" {
		dir, err := os.MkdirTemp("/dev/shm", "descriptors") // in memory, as the kernel's files
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		out, err := exec.Command(elf, dir).CombinedOutput()
		if err != nil {
			t.Fatalf("on Linux: %v\n%s", err, out)
		}
		if err := os.WriteFile(descriptorsOnLinux, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(descriptorsOnLinux)
	if err != nil {
		t.Fatal(err)
	}
	vm, serial := start(t, Config{Kernel: elf}, "")
	res, err := vm.Wait()
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Errorf("%v, status %d, %v; want status 0", res.Outcome, res.Program, err)
	}
	compareLines(t, "the program", said(serial.String()), string(want))
}

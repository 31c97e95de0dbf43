package qemu

import (
	"os/exec"
	"strings"
	"testing"
)

// TestVectors: a signal's frame has the 256-bit registers as Linux's has them, with its marks,
// and what the handler changes there is in the registers behind it; a frame that is marked as
// FXSAVE's alone empties the upper halves.
func TestVectors(t *testing.T) {
	t.Parallel()
	elf := program(t, "vectors")
	linux, err := exec.Command(elf).Output()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, linux)
	}
	_, want, _ := strings.Cut(string(linux), "\n") // the host's CPU is another one
	vm, out := start(t, Config{Kernel: elf, CPU: "max"}, "")
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("%v, status %d, %v\n%s", res.Outcome, res.Program, err, out)
	}
	got := strings.ReplaceAll(out.String(), "\r\n", "\n")
	const cpu = "AVX true, AVX2 true, FMA true, AES true\n"
	for _, part := range []string{", XSAVE, AVX\n", cpu + want} {
		if !strings.Contains(got, part) {
			t.Errorf("the kernel does not say\n%s\nbut\n%s", part, got)
		}
	}
}

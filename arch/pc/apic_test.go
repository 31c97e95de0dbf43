package pc

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAPIC runs the tests of x2apic_test.go, which need their own build: it replaces the MSRs with
// memory.
func TestAPIC(t *testing.T) {
	out, err := exec.Command("go", "test", "-count=1", "-tags=hostmsr", "-run=^TestModes$|^TestRegisters$", "-v", ".").CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: ") != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
}

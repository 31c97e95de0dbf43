package batch

import (
	"path/filepath"
	"testing"
)

// TestLinuxVariable: a Linux that the user names is taken.
func TestLinuxVariable(t *testing.T) {
	want := filepath.Join(t.TempDir(), "vmlinuz")
	t.Setenv(LinuxVariable, want)
	if got, modules, err := Linux(t.Context()); got != want || modules != "" || err != nil {
		t.Errorf("Linux = %s, %s, %v; want %s", got, modules, err, want)
	}
}

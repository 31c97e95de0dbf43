package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const twice = "../format/handle/testdata/twice.snapshot"

// TestHandlesCommands: what zf handles and zf leaks take, and what they say of the rest.
func TestHandlesCommands(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("zeroframe 0.1.0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut")
	data, err := os.ReadFile(twice)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, data[:100], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"handles", twice}, exitOK, "\nfd 5 was closed twice\n", ""},
		{[]string{"handles", "-kinds", "futex", twice}, exitOK, "futex", ""},
		{[]string{"handles", "-kinds", "futexes,fds", twice}, exitOK, "\nfd 5 was closed twice\n", ""},
		{[]string{"handles", "-kinds", "fish", twice}, exitUsage, "", "there is no \"fish\"; want of "},
		{[]string{"leaks", "-kinds", "fds,fish", twice, twice}, exitUsage, "", "there is no \"fish\"; want of "},
		{[]string{"handles", "-key", "fd:5", twice}, exitOK, "\n4 events, the latest last:\n", ""},
		{[]string{"handles", "-json", twice}, exitOK, `{"version":1,"reason":"death",`, ""},
		{[]string{"handles", "-key", "fish:5", twice}, exitUsage, "", "want KIND:KEY"},
		{[]string{"handles"}, exitUsage, "", "want one FILE"},
		{[]string{"handles", empty}, exitUsage, "", "was record= on the kernel command line?"},
		{[]string{"handles", cut}, exitUsage, "", "is damaged"},
		{[]string{"handles", filepath.Join(dir, "none")}, exitUsage, "", "no such file"},
		{[]string{"handles", "-e", empty, twice}, exitUsage, "", "empty"},
		{[]string{"leaks", twice, twice}, exitOK, "nothing has grown or shrunk\n", ""},
		{[]string{"leaks", twice}, exitUsage, "", "want two files"},
		{[]string{"leaks", twice, empty}, exitUsage, "", "no snapshot"},
	} {
		code, stdout, stderr := zf(nil, tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !holds(stderr, tt.stderr) {
			t.Errorf("zf %q: status %d, %q, %q; want %d, %q, %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

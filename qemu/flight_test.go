package qemu

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What zf run and zf test keep of a program: all of it at once, of a program that a
// timeout ends, and of a package's tests.

// TestFlightTimeout: a program that does not end by itself has its profile, its counts, its
// heap and what it has open sent all the same.
func TestFlightTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var out string
	untilBegun("profiled: spinning\n", func(limit string, says io.Writer) {
		cmd := zfRun(t, "-q", "-timeout", limit, "-cpuprofile", at("cpu"), "-handles", at("open"),
			"-memprofile", at("heap"), "-probe", "main.six", "./testdata/profiled", "--", "until", "1000000000")
		out = outputTo(says, cmd)
		if status := cmd.ProcessState.ExitCode(); status != 3 {
			t.Errorf("status %d; want 3, a timeout", status)
		}
	})
	if _, err := os.Stat(at("cpu")); err != nil {
		t.Fatalf("%v; the output is\n%s", err, out)
	}
	if p := readPprof(t, at("cpu")); len(p.Sample) == 0 {
		t.Error("the profile is empty")
	}
	for _, name := range []string{"open", "heap"} {
		if fi, err := os.Stat(at(name)); err != nil || fi.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(out, "  main.six\n") || !strings.Contains(out, " breakpoints took ") {
		t.Errorf("there are no counts in\n%s", out)
	}
}

// TestFlightOfTests: the flags of zf run are those of zf test too.
func TestFlightOfTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out, err := zfTest(t, "-run", "Pass|Sub", "-cpuprofile", at("cpu"), "-profilerate", "9973", "-handles", at("open"),
		"-memprofile", at("heap"), "-probe", "*.TestPass", "./testdata/tests").CombinedOutput()
	if status := exitCode(t, err); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	if p := readPprof(t, at("cpu")); len(p.Sample) == 0 {
		t.Error("the profile is empty")
	}
	for _, name := range []string{"open", "heap"} {
		if fi, err := os.Stat(at(name)); err != nil || fi.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, want := range []string{"TestPass\n", " breakpoints took ", "zf test: a snapshot is in ", "zf test: the heap profile is in "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestFlightMissing: what was asked for and has not come is said, and is no success.
func TestFlightMissing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cpu")
	for _, tt := range []struct {
		flag, append string
		want         []string
	}{
		{"-cpuprofile", "depot=0", []string{"-cpuprofile: the target has sent no profile", "profile=on is ignored: it needs a stack depot"}},
		{"-handles", "record=off", []string{"no snapshot has come"}},
	} {
		out, err := zfRun(t, "-q", tt.flag, file, "-append", tt.append, program(t, "profiled")).CombinedOutput()
		status := exitCode(t, err)
		for _, want := range tt.want {
			if status != 2 || !strings.Contains(string(out), want) {
				t.Errorf("%s: status %d, %s; want 2, and %q", tt.flag, status, out, want)
			}
		}
	}
	for _, args := range [][]string{{"-cpuprofile", file, "sort", "strings"}, {"-probe-stacks", "sort"}, {"-profilerate", "7", "sort"}} {
		out, err := zfTest(t, args...).CombinedOutput()
		if status := exitCode(t, err); status != 2 {
			t.Errorf("zf test %q: status %d, %s; want 2", args, status, out)
		}
	}
}

package qemu

// `zf run -core` says who waits for whom: of the programs of testdata/deadlocks that stop,
// by a death of which the Go runtime knows that all goroutines are asleep, or by the watchdog.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wanted are the patterns of what is to be said of each program, from testdata/deadlocks/want.txt,
// which tools/postmortem/waits reads, too.
func wanted(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("testdata/deadlocks/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string][]string)
	name := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch pattern, ok := strings.CutPrefix(line, "\t"); {
		case line == "" || line[0] == '#':
		case ok:
			want[name] = append(want[name], pattern)
		default:
			name = strings.TrimPrefix(line, "hang ")
		}
	}
	if len(want) != 21 {
		t.Fatalf("%d programs, want 21", len(want))
	}
	return want
}

func TestDeadlocks(t *testing.T) {
	image := program(t, "deadlocks")
	findings := regexp.MustCompile(`(?m)^zf run: (?:deadlock|hang|stuck): (.*)$`)
	for name, patterns := range wanted(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := filepath.Join(t.TempDir(), "core")
			out, _ := zfRun(t, "-core", core, "-append", "watchdog=5", image, "--", name).CombinedOutput()
			got := findings.FindAllStringSubmatch(string(out), -1)
			for i, f := range got {
				t.Log(f[1])
				if i >= len(patterns) || !regexp.MustCompile("^"+patterns[i]).MatchString(f[1]) {
					t.Errorf("not wanted: %s", f[1])
				}
			}
			if len(got) < len(patterns) {
				t.Errorf("%d findings, want %q:\n%s", len(got), patterns, out)
			}
		})
	}
}

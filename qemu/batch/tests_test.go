package batch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadTests: what is said of a run, from what test binaries print with -test.v, by
// the events that go tool test2json makes of it.
func TestReadTests(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       string // passed, skipped, then each failed test with what it said
		end        string // "": of no interest
	}{
		{"all pass", "boot report\r\n=== RUN   TestA\r\n--- PASS: TestA (0.00s)\r\n=== RUN   TestB\r\n    b_test.go:9: not here\r\n--- SKIP: TestB (0.01s)\r\nPASS\r\n",
			"1 1", ""},
		{"subtests", "=== RUN   TestA\n=== RUN   TestA/x\n    a_test.go:5: x is bad\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n    --- PASS: TestA/y (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nFAIL\nzf test: the program exited with status 1\n",
			"1 0 TestA: x is bad", ""},
		{"another's output", "=== RUN   TestA\n    a_test.go:5: want:\n        --- FAIL: TestOther (N.NNs)\n            o_test.go:1: no\n--- FAIL: TestA (0.00s)\n",
			"0 0 TestA: want: --- FAIL: TestOther (N.NNs)", ""},
		{"parallel", "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n=== CONT  TestB\n=== NAME  TestA\n    a_test.go:1: A's\n=== NAME  TestB\n    b_test.go:1: B's\n--- FAIL: TestB (0.00s)\n--- FAIL: TestA (0.00s)\n",
			"0 0 TestB: B's TestA: A's", ""},
		{"panic", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== PAUSE TestB\n=== RUN   TestC\npanic: oh\n\ngoroutine 5 [running]:\n",
			"1 0 TestC: panic: oh", ""},
		{"overtime", "=== RUN   TestA\n=== RUN   TestB\npanic: test timed out after 3s\n\trunning tests:\n\t\tTestB (2s)\n\t\tTestB/x (2s)\n\ngoroutine 1:\n\tTestC (1s)\n",
			"0 0 TestB: panic: test timed out after 3s", ""},
		{"before any test", "boot report\npanic: no exec\nzf test: panic\nin main (1 frame)\n",
			"0 0", "panic: no exec"},
		{"the machine", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nzf test: triple fault\nFAIL\n",
			"1 0", "zf test: triple fault"},
	} {
		cmd := exec.Command("go", "tool", "test2json")
		cmd.Stdin = strings.NewReader(tt.text)
		events, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		o := ReadTests(events, nil)
		got := fmt.Sprint(o.Count("pass"), " ", o.Count("skip"))
		for _, name := range o.Failed() {
			got += " " + name + ": " + Said(o.Lines[name])
		}
		if got != tt.want || tt.end != "" && o.End() != tt.end {
			t.Errorf("%s: it gives %q, ended by %q; want %q, %q\n%s", tt.name, got, o.End(), tt.want, tt.end, events)
		}
	}
}

type fakeTable struct{ head, rows string }

func (t *fakeTable) String() string          { return t.head + "\n" + t.rows }
func (t *fakeTable) Head() string            { return t.head }
func (t *fakeTable) Sum() string             { return "the sum" }
func (t *fakeTable) Load(lines string) error { t.rows = lines; return nil }

// TestMake: rows of another table stay only if it is of the same kind.
func TestMake(t *testing.T) {
	s := TestFlags{Out: filepath.Join(t.TempDir(), "table"), Run: regexp.MustCompile("some")}
	for _, tt := range []struct{ file, head, want, err string }{
		{"", "# a", "# a\nnew\n", ""},
		{"# a\nold\n", "# a", "# a\nold\nnew\n", ""},
		{"# a\nold\n", "# b", "# a\nold\n", "anew as a whole"},
	} {
		os.Remove(s.Out)
		if tt.file != "" {
			if err := Replace(s.Out, tt.file); err != nil {
				t.Fatal(err)
			}
		}
		tab := &fakeTable{head: tt.head}
		var said strings.Builder
		err := s.Make(t.Context(), tab, false, &said, func() error {
			tab.rows += "new\n"
			if _, err := os.Stat(s.ZF); err != nil {
				t.Error(err)
			}
			return s.Write(tab)
		})
		got, _ := os.ReadFile(s.Out)
		if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("with %q and %s: %q, %v; want %q, %q", tt.file, tt.head, got, err, tt.want, tt.err)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is said of a run, from what test binaries print with -test.v.
func TestParseOutput(t *testing.T) {
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
		o := parseOutput(tt.text)
		got := fmt.Sprint(o.passed, " ", o.skipped)
		for _, f := range o.failed {
			got += " " + f.name + ": " + f.said()
		}
		if got != tt.want || tt.end != "" && o.end != tt.end {
			t.Errorf("%s: parseOutput gives %q, ended by %q; want %q, %q", tt.name, got, o.end, tt.want, tt.end)
		}
	}
}

// fakeZF is a zf whose packages end in known ways; what it is asked goes to a file.
const fakeZF = `#!/bin/sh
skip=
for arg; do
	[ "$last" = -skip ] && skip=$arg
	last=$arg
done
echo "$last $skip" >>"$0.log"
one() { # NAME VERDICT WORDS: a test that can be left out
	case $skip in *"$1"[\|\)]*) return ;; esac
	echo "=== RUN   $1"
	[ -z "$3" ] || echo "    x_test.go:1: $3"
	case $2 in
	DIE) echo "panic: $3"; exit 1 ;;
	FAIL) failed=1 ;;
	esac
	echo "--- $2: $1 (0.00s)"
}
failed=0
[ "$last" = broken ] && echo "undefined: x" && exit 2
one TestGood PASS
case $last in
good) ;;
needs)
	one TestNet FAIL 'dial: lookup example.org: no such host'
	one TestExec DIE 'fork/exec /bin/true: function not implemented'
	one TestMore FAIL 'exec: "go": executable file not found in $PATH'
	;;
bad)
	one TestBad FAIL 'got 1; want 2'
	one TestBad2 FAIL 'got 3; want 4'
	one TestNet FAIL 'lookup example.org: no such host'
	;;
dead) echo 'zf test: triple fault'; exit 3 ;;
esac
exit $failed
`

// TestPackage runs packages until what fails is known.
func TestPackage(t *testing.T) {
	s := settings{zf: filepath.Join(t.TempDir(), "zf"), timeout: time.Second, memoryMiB: 64, logs: t.TempDir()}
	if err := os.WriteFile(s.zf, []byte(fakeZF), 0o755); err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, tt := range []struct{ pkg, want, asked string }{
		{"good", "pass good 1 0", "good \n"},
		{"needs", "pass needs 1 0 except network: TestNet; except subprocess: TestExec TestMore",
			// TestExec hides TestMore at first.
			"needs \nneeds ^(TestNet)$\nneeds ^(TestNet|TestExec)$\nneeds ^(TestNet|TestExec|TestMore)$\n"},
		{"bad", "fail bad 1 0 TestBad: got 1; want 2 (and 1 more); except network: TestNet",
			"bad \nbad ^(TestBad|TestBad2|TestNet)$\n"},
		{"broken", "fail broken 0 0 zf test: undefined: x", "broken \n"},
		{"dead", "fail dead 1 0 zf test: triple fault", "dead \n"},
	} {
		os.Remove(s.zf + ".log")
		r := s.test(context.Background(), tt.pkg)
		rows = append(rows, r)
		asked, err := os.ReadFile(s.zf + ".log")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(r.String()), " "); got != tt.want || string(asked) != tt.asked {
			t.Errorf("%s: %q after asking %q; want %q, %q", tt.pkg, got, asked, tt.want, tt.asked)
		}
	}
	if log, err := os.ReadFile(filepath.Join(s.logs, "needs.4.log")); err != nil || !bytes.Contains(log, []byte("TestGood")) {
		t.Errorf("the log of the fourth run: %q, %v", log, err)
	}
	const want = "5 packages: 1 pass, 1 pass with exceptions, 3 fail; of the 4 that need no network and no subprocess, 1 pass: 25.0 %"
	if got := summary(rows); got != want {
		t.Errorf("summary() = %q; want %q", got, want)
	}
	if table := formatTable("go1", s, rows); !strings.HasSuffix(table, "\n# "+want+"\n") || strings.Count(table, "\n") != len(rows)+3 {
		t.Errorf("the table is\n%s", table)
	}
}

// TestKeep makes some rows of a table anew.
func TestKeep(t *testing.T) {
	rows := []row{
		{pkg: "a", pass: true, passed: 3, skipped: 1},
		{pkg: "b", passed: 7, why: "TestX: got 1; want 2 (and 1 more)", exceptions: []exception{{"TestA", network, ""}, {"TestC", subprocess, ""}, {"TestB", users, ""}}},
		{pkg: "c", pass: true, exceptions: []exception{{"TestA", subprocess, ""}, {"TestB", subprocess, ""}}},
	}
	for _, r := range rows {
		if got, err := parseRow(r.String()); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("parseRow(%q) = %+v, %v; want %+v", r.String(), got, err, r)
		}
	}
	for _, line := range []string{"", "pass a", "okay a 1 2", "pass a one 2"} {
		if r, err := parseRow(line); err == nil {
			t.Errorf("parseRow(%q) = %+v; want an error", line, r)
		}
	}

	s := settings{timeout: time.Second, memoryMiB: 64, run: regexp.MustCompile("b|d")}
	file := filepath.Join(t.TempDir(), "std.txt")
	fresh := []row{{pkg: "d", pass: true}, {pkg: "b", pass: true}}
	if got, err := s.keep(file, "go1", fresh); err != nil || len(got) != 2 {
		t.Errorf("without a file: %+v, %v; want the fresh rows", got, err)
	}
	if err := os.WriteFile(file, []byte(formatTable("go1", s, rows)), 0o644); err != nil {
		t.Fatal(err)
	}
	want := []row{rows[0], fresh[1], rows[2], fresh[0]}
	if got, err := s.keep(file, "go1", slices.Clone(fresh)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("keep() = %+v, %v; want %+v", got, err, want)
	}
	if got, err := s.keep(file, "go2", fresh); err == nil {
		t.Errorf("a table of another Go gives %+v; want an error", got)
	}
	s.run = regexp.MustCompile("")
	if got, err := s.keep(file, "go2", fresh); err != nil || len(got) != 2 {
		t.Errorf("without -run: %+v, %v; want the fresh rows", got, err)
	}
}

// TestExceptionsForOtherReasons: only a network or a subprocess takes a package out of
// those that ought to pass.
func TestExceptionsForOtherReasons(t *testing.T) {
	rows := []row{{pkg: "a", pass: true, exceptions: []exception{{"TestA", "time", ""}, {"TestB", network, ""}}}}
	if got := summary(rows); !strings.Contains(got, "of the 1 that need no network and no subprocess, 0 pass") {
		t.Errorf("summary() = %q", got)
	}
}

// TestKnown: an entry of the list is of use only if it names a test.
func TestKnown(t *testing.T) {
	for key := range known {
		pkg, name, ok := strings.Cut(key[strings.LastIndex(key, "/")+1:], ".")
		if !ok || pkg == "" || !regexp.MustCompile(`^(Test|Example|Fuzz)[A-Z_0-9]?\w*$`).MatchString(name) {
			t.Errorf("%q is not PACKAGE.TEST", key)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ args, says, err string }{
		{"-h", "Stdtable boots the tests", "help requested"},
		{"-nosuch", "", "-h lists the flags"},
		{"-p 0", "", "must be more than 0"},
		{"-run (", "", "missing closing"},
		{"extra", "", "unexpected extra"},
	} {
		var stdout bytes.Buffer
		err := command(context.Background(), strings.Fields(tt.args), &stdout, &stdout)
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(stdout.String(), tt.says) ||
			errors.Is(err, flag.ErrHelp) != (tt.args == "-h") {
			t.Errorf("stdtable %s: %v, %q; want %s, %q", tt.args, err, stdout.String(), tt.err, tt.says)
		}
	}
}

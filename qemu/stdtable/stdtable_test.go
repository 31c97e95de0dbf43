package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// fakeZF is a zf whose packages end in known ways; what it is asked goes to a file.
const fakeZF = `#!/bin/sh
if [ -z "$ZF_TEXT" ]; then
	text=$(ZF_TEXT=1 "$0" "$@")
	status=$?
	echo "$text" | go tool test2json
	exit $status
fi
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
	s := settings{batch.TestFlags{ZF: filepath.Join(t.TempDir(), "zf"), Timeout: time.Second, MemoryMiB: 64, Logs: t.TempDir()}}
	if err := os.WriteFile(s.ZF, []byte(fakeZF), 0o755); err != nil {
		t.Fatal(err)
	}
	tab := newTable("go1", s)
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
		os.Remove(s.ZF + ".log")
		r, err := s.test(t.Context(), tt.pkg)
		if err != nil {
			t.Fatal(err)
		}
		tab.rows[r.pkg] = r.String()
		asked, err := os.ReadFile(s.ZF + ".log")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(r.String()), " "); got != tt.want || string(asked) != tt.asked {
			t.Errorf("%s: %q after asking %q; want %q, %q", tt.pkg, got, asked, tt.want, tt.asked)
		}
	}
	if log, err := os.ReadFile(filepath.Join(s.Logs, "needs.4.log")); err != nil || !bytes.Contains(log, []byte("TestGood")) {
		t.Errorf("the log of the fourth run: %q, %v", log, err)
	}
	const want = "5 packages: 1 pass, 1 pass with exceptions, 3 fail; of the 4 that need no network and no subprocess, 1 pass: 25.0 %"
	if got := tab.Sum(); got != want {
		t.Errorf("Sum() = %q; want %q", got, want)
	}
	if text := tab.String(); !strings.HasSuffix(text, "\n# "+want+"\n") || strings.Count(text, "\n") != 5+3 {
		t.Errorf("the table is\n%s", text)
	}
}

// TestLoad makes some rows of a table anew.
func TestLoad(t *testing.T) {
	rows := []row{
		{pkg: "a", pass: true, passed: 3, skipped: 1},
		{pkg: "b", passed: 7, why: "TestX: got 1; want 2 (and 1 more)", exceptions: []exception{{"TestA", network, ""}, {"TestC", subprocess, ""}, {"TestB", users, ""}}},
		{pkg: "c", pass: true, exceptions: []exception{{"TestA", subprocess, ""}, {"TestB", subprocess, ""}}},
	}
	s := settings{batch.TestFlags{Timeout: time.Second, MemoryMiB: 64}}
	was := newTable("go1", s)
	for _, r := range rows {
		was.rows[r.pkg] = r.String()
	}
	head, lines, _ := strings.Cut(was.String(), "\n")
	now := newTable("go1", s)
	if err := now.Load(lines); err != nil || now.String() != was.String() || head != now.Head() {
		t.Errorf("Load() = %v\n%s; want\n%s", err, now, was)
	}
	for _, line := range []string{"pass a", "okay a 1 2"} {
		if err := newTable("go1", s).Load(line + "\n"); err == nil {
			t.Errorf("%q is a row", line)
		}
	}
}

// TestExceptionsForOtherReasons: only a network or a subprocess takes a package out of
// those that ought to pass.
func TestExceptionsForOtherReasons(t *testing.T) {
	tab := newTable("go1", settings{})
	tab.rows["a"] = row{pkg: "a", pass: true, exceptions: []exception{{"TestA", "time", ""}, {"TestB", network, ""}}}.String()
	if got := tab.Sum(); !strings.Contains(got, "of the 1 that need no network and no subprocess, 0 pass") {
		t.Errorf("Sum() = %q", got)
	}
}

// TestKnown: an entry of the list is of use only if it names a test.
func TestKnown(t *testing.T) {
	for _, key := range known {
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
		err := command(t.Context(), strings.Fields(tt.args), &stdout, &stdout)
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(stdout.String(), tt.says) ||
			errors.Is(err, flag.ErrHelp) != (tt.args == "-h") {
			t.Errorf("stdtable %s: %v, %q; want %s, %q", tt.args, err, stdout.String(), tt.err, tt.says)
		}
	}
}

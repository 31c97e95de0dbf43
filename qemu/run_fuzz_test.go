package qemu

// `zf test -fuzz` beside `go test -fuzz`: a worker on a machine finds what one on the host does,
// what it finds is written in the same places, and the same is said.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const fuzzedTest = `package fuzzed

import (
	"runtime/debug"
	"testing"
)

func init() { debug.SetMaxStack(1 << 20) }

func TestPass(t *testing.T) {}

func FuzzFind(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2 && b[0] == 'F' {
			if b[1] == 'U' {
				t.Fatal("found")
			}
		}
	})
}

func FuzzDie(f *testing.F) {
	f.Add("seed", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if s != "seed" {
			deep(n)
		}
	})
}

func deep(n int) int { return deep(n+1) + 1 }

func FuzzFine(f *testing.F) {
	f.Add(true, "seed")
	f.Fuzz(func(t *testing.T, b bool, s string) {})
}
`

// sameFuzzing are the changes after which what is said of fuzzing can be compared: how fast it
// went, and which of several inputs was found.
var sameFuzzing = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(?m)^fuzz: .*\n`), ""},
	{regexp.MustCompile(`(/FuzzFind/)[0-9a-f]{16}`), "${1}HASH"},
	{regexp.MustCompile(`(FuzzFind/)[0-9a-f]{16}`), "${1}HASH"},
	{regexp.MustCompile(`(?m)^    go test -run=`), "    zf test -run="},
}

func TestZfTestFuzz(t *testing.T) {
	t.Parallel()
	module := fmt.Sprintf("example.com/zeroframe/fuzzed%d", os.Getpid())
	cache := filepath.Join(goCache(t), "fuzz", module)
	t.Cleanup(func() { os.RemoveAll(cache) })
	folder := func(t *testing.T) string {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module " + module + "\n\ngo 1.25\n", "fuzzed_test.go": fuzzedTest} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	run := func(t *testing.T, dir, command string, args ...string) (stdout, stderr string, status int) {
		t.Helper()
		cmd := exec.Command(command, append([]string{"test"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "PWD="+dir)
		var out, msg bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &msg
		status = exitCode(t, cmd.Run())
		return out.String(), msg.String(), status
	}
	plain := func(s string) string {
		for _, r := range sameInBoth {
			s = r.re.ReplaceAllString(s, r.to)
		}
		for _, r := range sameFuzzing {
			s = r.re.ReplaceAllString(s, r.to)
		}
		return s
	}
	// found returns the one input that was written, and its path.
	found := func(t *testing.T, dir, test string) (path, text string) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", test, "*"))
		if len(files) != 1 {
			t.Fatalf("the inputs that were written are %q; want one", files)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return files[0], string(b)
	}

	// The same is said, whether something is found or not, or nothing is to be fuzzed.
	for args, status := range map[string]int{
		"-v -run=Pass -fuzz=FuzzFind -parallel=1": 1, // each of its two bytes covers something new
		"-v -run=Pass -fuzz=Fine -fuzztime=300x":  0,
		"-run=^$ -fuzz=Fine -fuzztime=20x .":      0,
		"-fuzz=Fuzz":                              1, // which?
		"-fuzz=None":                              0,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			here, there := folder(t), folder(t)
			native, said, _ := run(t, here, "go", append([]string{"-vet=off"}, strings.Fields(args)...)...)
			got, msg, code := run(t, there, zfCommand(t), strings.Fields(args)...)
			if want := plain(native); plain(got) != want || code != status {
				t.Errorf("status %d, %q\n%s\nwant %d, %q\n%s", code, msg, plain(got), status, said, want)
			}
			if !strings.Contains(args, "FuzzFind") {
				return
			}
			path, text := found(t, there, "FuzzFind")
			if !strings.HasPrefix(text, "go test fuzz v1\n[]byte(\"FU") {
				t.Errorf("the input is\n%s", text)
			}
			if covered, _ := os.ReadDir(filepath.Join(cache, "FuzzFind")); len(covered) == 0 {
				t.Error("no input that covers new code was kept")
			}
			test := "FuzzFind/" + filepath.Base(path)
			if out, _, code := run(t, there, zfCommand(t), "-run="+test); code != 1 || !strings.Contains(out, "--- FAIL: "+test) {
				t.Errorf("-run=%s: status %d\n%s", test, code, out)
			}
		})
	}

	// A machine that dies is a worker that does: the input is found by what it has left in RAM.
	t.Run("dies", func(t *testing.T) {
		t.Parallel()
		dir := folder(t)
		out, msg, code := run(t, dir, zfCommand(t), "-run=^$", "-fuzz=FuzzDie")
		if code != 1 || !strings.Contains(out, "fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to testdata/fuzz/FuzzDie/") {
			t.Errorf("status %d\n%s", code, out)
		}
		if !strings.Contains(msg, "\nzf1 reason fatal error: stack overflow") || !strings.Contains(msg, "fuzzed_test.go:32") {
			t.Errorf("no trace in\n%s", msg)
		}
		path, text := found(t, dir, "FuzzDie")
		if lines := strings.Split(text, "\n"); len(lines) != 4 || lines[1] == `string("seed")` || !strings.HasPrefix(lines[2], "int(") {
			t.Errorf("the input is\n%s", text)
		}
		test := "FuzzDie/" + filepath.Base(path)
		if out, _, code := run(t, dir, "go", "-run="+test); code != 1 || !strings.Contains(out, "stack overflow") {
			t.Errorf("go test -run=%s: status %d\n%s", test, code, out)
		}
	})
}

package qemu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestZfTestCache: a result comes out of the cache if, and only if, nothing has changed that
// the machine is given, or that the test has read of this host.
func TestZfTestCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		long = long.Add(time.Second) // each is older than the test, and newer than the one before
		name = filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chtimes(name, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module kept\n\ngo 1.25\n")
	write("kept.go", "package kept\n\nfunc One() int { return 1 }\n")
	write("kept_test.go", `package kept

import (
	"os"
	"testing"
)

func TestData(t *testing.T) {
	b, err := os.ReadFile("data")
	t.Logf("%s %v", b, err)
	if len(b) == 0 || One() != 1 {
		t.Error("no data")
	}
}
`)
	write("data", "first")
	env := append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goCache(t))
	for _, step := range []struct {
		args   string
		change func()
		cached bool
	}{
		{args: "-v ."},
		{args: "-v .", cached: true},
		{args: "-json .", cached: false},
		{args: "-json .", cached: true},
		{args: "-count=1 -v ."},
		{args: "-v", cached: false},
		{args: "-v .", change: func() { write("data", "second") }},
		{args: "-v .", cached: true},
		{args: "-v .", change: func() { write("unread", "1") }, cached: true},
		{args: "-v . -mount none"},
		{args: "-v . -mount none", cached: true},
		{args: "-v . -mount none", change: func() { write("unread", "2") }},
		{args: "-v . -m 600"},
		{args: "-coverprofile=c.out .", change: func() { write("c.out", "") }},
		{args: "-coverprofile=c.out .", change: func() { write("c.out", "old") }, cached: true},
		{args: "-v .", change: func() { write("kept.go", "package kept\n\nfunc One() int { return 2 - 1 + len(\"\") }\n\nvar X = 7\n") }},
		{args: "-v .", cached: true},
		{args: "-v .", change: func() { // as new as the test: it may have been read as it was before
			if err := os.Chtimes(filepath.Join(dir, "data"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}},
		{args: "-v ."},
		{args: ".", change: func() { write("data", "") }},
		{args: "."},
	} {
		if step.change != nil {
			step.change()
		}
		zf := zfTest(t, strings.Fields(step.args)...)
		zf.Dir, zf.Env = dir, env
		out, err := zf.CombinedOutput()
		status := exitCode(t, err)
		if got := strings.Contains(string(out), "(cached)"); got != step.cached {
			t.Errorf("zf test %s: from the cache %v; want %v\n%s", step.args, got, step.cached, out)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, "data")); (status == 0) != (len(data) > 0) || strings.Contains(step.args, "-v") && !strings.Contains(string(out), string(data)+" <nil>") {
			t.Errorf("zf test %s: status %d, with the data %q\n%s", step.args, status, data, out)
		}
		if strings.Contains(step.args, "c.out") {
			if b, err := os.ReadFile(filepath.Join(dir, "c.out")); err != nil || !regexp.MustCompile(`^mode: set\nkept/kept.go:\S+ 1 1\n$`).Match(b) {
				t.Errorf("zf test %s: the profile is %q, %v", step.args, b, err)
			}
		}
	}
}

// goCache returns the go command's build cache.
func goCache(t *testing.T) string { t.Helper(); return goEnv(t, "GOCACHE") }

// goEnv returns a variable of the go command's.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

package code

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var shared string // folder of the programs that several tests read

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "code")
	if err != nil {
		panic(err)
	}
	shared = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// build runs a compiler, once for each output.
func build(t testing.TB, out string, cmd *exec.Cmd) string {
	t.Helper()
	if _, err := os.Stat(out); err == nil {
		return out
	}
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s(the tests need gcc and binutils)", strings.Join(cmd.Args, " "), err, msg)
	}
	return out
}

// buildGo builds gofmt, an ordinary Go program, with its symbol table.
func buildGo(t testing.TB) string {
	t.Helper()
	out := filepath.Join(shared, "gofmt.elf")
	cmd := exec.Command("go", "build", "-o", out, "cmd/gofmt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	return build(t, out, cmd)
}

// buildC builds testdata/sample.c with gcc -O2 and these flags.
func buildC(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(shared, "sample"+strings.Join(flags, "")+".elf")
	args := append([]string{"-O2", "-o", out, "testdata/sample.c"}, flags...)
	return build(t, out, exec.Command("gcc", args...))
}

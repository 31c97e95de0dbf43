// Package coretest makes core files of ordinary Linux programs, for tests: gdb runs the program
// and writes its core (gcore) when it aborts, which needs no right and no setting of the host's.
//
// It imports nothing of ours. Context: the host.
package coretest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Dead is a program that has died. Text is what it has printed: with GOTRACEBACK=crash, which
// it is run with, Go's traceback of all goroutines.
type Dead struct{ ELF, Core, Text string }

// Make builds the package in a folder, with further flags for go build, runs it to its end, and
// returns what is left. It fails the test if that does not abort.
func Make(t testing.TB, pkg string, flags ...string) Dead {
	t.Helper()
	dir := t.TempDir()
	d := Dead{ELF: filepath.Join(dir, "dead"), Core: filepath.Join(dir, "dead.core")}
	build := exec.Command("go", append(append([]string{"build", "-o", d.ELF}, flags...), ".")...)
	build.Dir = pkg
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	text := filepath.Join(dir, "text")
	gdb := exec.Command("gdb", "-nx", "-q", "-batch", "-iex", "set auto-load no", "-iex",
		"set debuginfod enabled off",
		"-ex", "handle SIGURG SIGQUIT SIGPIPE SIGCHLD nostop noprint pass", "-ex",
		"set startup-with-shell on",
		"-ex", "run 2>"+text, "-ex", "gcore "+d.Core, "-ex", "kill", d.ELF)
	gdb.Env = append(os.Environ(), "GOTRACEBACK=crash", "SHELL=/bin/sh")
	out, err := gdb.CombinedOutput()
	if _, serr := os.Stat(d.Core); err != nil || serr != nil {
		t.Fatalf("gdb: %v, %v\n%s", err, serr, out)
	}
	b, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	d.Text = string(b)
	return d
}

package gotest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		passed, cached bool
		output         string
		want           string
	}{
		{true, false, "PASS\n", "ok  \tp\t1.500s"},
		{true, true, "PASS\n", "ok  \tp\t(cached)"},
		{true, false, "testing: warning: no tests to run\nPASS\n", "ok  \tp\t1.500s [no tests to run]"},
		{true, false, "says testing: warning: no tests to run\nPASS\n", "ok  \tp\t1.500s"},
		{true, false, "PASS\ncoverage: 66.7% of statements\n", "ok  \tp\t1.500s\tcoverage: 66.7% of statements"},
		{true, true, "testing: warning: no tests to run\nPASS\ncoverage: 0.0% of statements in ./...\n", "ok  \tp\t(cached)\tcoverage: 0.0% of statements in ./... [no tests to run]"},
		{false, false, "testing: warning: no tests to run\n", "FAIL\tp\t1.500s"},
		{false, false, "", "FAIL\tp\t1.500s"},
	} {
		if got := Line("p", tt.passed, 1500*time.Millisecond, tt.cached, []byte(tt.output)); got != tt.want {
			t.Errorf("Line(%v, cached %v, %q) = %q; want %q", tt.passed, tt.cached, tt.output, got, tt.want)
		}
	}
}

func TestFile(t *testing.T) {
	for _, record := range []string{"", "/a", "a\x00x", "/a/../b\x00x", "/a/\x00x", "\x00x"} {
		if f, err := ReadFile([]byte(record)); err == nil {
			t.Errorf("ReadFile(%q) = %q; want an error", record, f.Path)
		}
	}
	f, err := ReadFile([]byte("/out/_artifacts/a b/f\x00one\x00two\n"))
	if err != nil || f.Path != "/out/_artifacts/a b/f" || string(f.Data) != "one\x00two\n" {
		t.Fatalf("ReadFile = %q, %v", f, err)
	}
	if !f.Below("/out") || !f.Below("/out/_artifacts") || !f.Below("/") || !f.Below(f.Path) || f.Below("/out/_art") {
		t.Errorf("%s: Below is wrong", f.Path)
	}
	root := t.TempDir()
	if err := f.Write(root, "/out"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "_artifacts/a b/f")); string(got) != "one\x00two\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := (File{Path: "/out/link/f", Data: []byte("x")}).Write(root, "/out"); err == nil {
		t.Error("a file was written through a symbolic link out of the folder")
	}
}

func TestProfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.out")
	p := NewProfile(name, "atomic")
	for _, data := range []string{"mode: atomic\na.go:1.1,2.2 1 1\n", "", "mode: atomic\nb.go:1.1,2.2 1 0\n"} {
		if err := p.Add([]byte(data)); err != nil {
			t.Error(err)
		}
	}
	if err := p.Add([]byte("mode: set\nc.go:1.1,2.2 1 1\n")); err == nil {
		t.Error("a profile of another mode was added")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(name); string(got) != "mode: atomic\na.go:1.1,2.2 1 1\nb.go:1.1,2.2 1 0\n" {
		t.Errorf("the profile is %q", got)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDispatch(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string // "" means nothing at all
	}{
		{nil, 2, "", "Usage:"},
		{[]string{"-h"}, 0, "zf symbolize", ""},
		{[]string{"--help"}, 0, "Exit status", ""},
		{[]string{"help"}, 0, "Usage:", ""},
		{[]string{"help", "build"}, 0, "Usage: zf build", ""},
		{[]string{"help", "run"}, 0, "-append", ""},
		{[]string{"help", "nosuch"}, 2, "", "unknown command"},
		{[]string{"nosuch"}, 2, "", "`zf -h`"},
		{[]string{"version"}, 0, "zf ", ""},
		{[]string{"--version"}, 0, "go1.", ""},
		{[]string{"version", "-x"}, 2, "", "-x"},
		{[]string{"build", "-h"}, 0, "-o FILE", ""},
		{[]string{"run", "--help"}, 0, "-json FILE", ""},
		{[]string{"version", "-h"}, 0, "Usage: zf version\n", ""},
		{[]string{"build"}, 2, "", "want one package"},
		{[]string{"build", ".", "-o", "x"}, 2, "", "flags go before it"},
		{[]string{"build", "-buildmode=pie", "."}, 2, "", "-buildmode=pie"},
		{[]string{"build", "../machine/image"}, 2, "", "not a main package"},
		{[]string{"test", "-h"}, 0, "-count N", ""},
		{[]string{"test", "-nosuch"}, 2, "", "zf test: flag provided but not defined: -nosuch"},
		{[]string{"build", "-race", "."}, 2, "", "zf build: -race: the race detector needs cgo"},
		{[]string{"run", "-toolexec=x", "."}, 2, "", "zf adds the kernel by it; leave it out"},
		{[]string{"run", "-v", "-C", ".."}, 2, "", "it must be the first flag"},
		{[]string{"test", "-race", "."}, 2, "", "-race cannot work here: the race detector needs cgo"},
		{[]string{"test", ".", "-exec=env"}, 2, "", "-exec cannot work here: zf test itself"},
		{[]string{"test", "-shuffle", "x", "."}, 2, "", "invalid value \"x\" for flag -shuffle: want on, off"},
		{[]string{"test", "-trace", "t.out", "errors", "sort"}, 2, "", "-trace is for one package at a time"},
		{[]string{"test", "-timeout", "-1s"}, 2, "", "negative"},
		{[]string{"test", "./nosuch/..."}, 2, "FAIL\t./nosuch/... [setup failed]\nFAIL\n", "cannot load package ./nosuch/..."},
		{[]string{"test", "main_test.go"}, 2, "", "name a package"},
	} {
		code, stdout, stderr := zf(nil, tt.args...)
		if code != tt.code || !holds(stdout, tt.stdout) || !holds(stderr, tt.stderr) {
			t.Errorf("zf %q = %d, %q, %q; want %d, %q, %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

func holds(s, want string) bool {
	return (s == "") == (want == "") && strings.Contains(s, want)
}

// TestUsageWidth: a terminal of 80 columns shows it well.
func TestUsageWidth(t *testing.T) {
	helps := [][]string{{"-h"}}
	for _, c := range commands() {
		helps = append(helps, []string{c.name, "-h"})
	}
	if _, stdout, _ := zf(nil, "-h"); strings.Count(stdout, "\n") > 24 {
		t.Errorf("zf -h has %d lines; want those of a screen:\n%s", strings.Count(stdout, "\n"), stdout)
	}
	for _, args := range helps {
		_, stdout, _ := zf(nil, args...)
		for line := range strings.Lines(stdout) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "    \t", "        ")
			if len(line) > 80 {
				t.Errorf("zf %q: line of %d columns: %s", args, len(line), line)
			}
		}
	}
}

// TestFlagError: the cause, in one line.
func TestFlagError(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"-nosuch", "zf run: flag provided but not defined: -nosuch; `zf run -h` lists the flags\n"},
		{"-timeout=3", "zf run: invalid value \"3\" for flag -timeout: want a duration such as 3s; `zf run -h` lists the flags\n"},
	} {
		if code, stdout, stderr := zf(nil, "run", tt.arg); code != exitUsage || stdout != "" || stderr != tt.want {
			t.Errorf("zf run %s = %d, %q, %q; want 2, nothing, %q", tt.arg, code, stdout, stderr, tt.want)
		}
	}
}

// TestKernelVersion: zf may not import the kernel, so it is read.
func TestKernelVersion(t *testing.T) {
	src, err := os.ReadFile("../../kernel/early.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nconst Version = \"" + kernelVersion + "\"\n"; !strings.Contains(string(src), want) {
		t.Errorf("kernel/early.go does not have %q; set kernelVersion to what it has", want)
	}
	if _, stdout, _ := zf(nil, "version"); !strings.Contains(stdout, ", kernel "+kernelVersion+", ") {
		t.Errorf("zf version = %q; want the kernel's version %s in it", stdout, kernelVersion)
	}
}

// TestBuildCompileError: the compiler's words come first, ours last.
func TestBuildCompileError(t *testing.T) {
	dir, err := os.MkdirTemp(".", "_broken-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	src := "package main\n\nimport _ \"github.com/zeroframe/zeroframe/kernel\"\n\nfunc main() { undefined() }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := zf(nil, "build", "./"+dir)
	if code != exitUsage || !strings.Contains(stderr, "undefined: undefined") || !strings.HasSuffix(stderr, "its messages are above\n") {
		t.Errorf("zf build of a broken package = %d, %q; want 2 and the compiler's message", code, stderr)
	}
}

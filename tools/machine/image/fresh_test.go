package image

import (
	"bytes"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFresh: a program of which nothing has changed is had without a go command, and whatever a build
// reads makes it be asked again.
func TestFresh(t *testing.T) {
	if !hasChangeTimes {
		return // there is nothing to remember by
	}
	before := settledFor
	settledFor = -time.Hour // the sources are as new as can be
	t.Cleanup(func() { settledFor = before })
	top, keep := t.TempDir(), filepath.Join(t.TempDir(), "linked")
	dir := filepath.Join(top, "a")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/fresh\n\ngo 1.26\n\nrequire example.com/b v0.0.0\nreplace example.com/b => ../b\n")
	write("main.go", "package main\n\nimport (\n\t_ \"os/exec\"\n\n\t\"example.com/b/c\"\n)\n\nfunc main() { println(c.Word) }\n")
	write("../b/go.mod", "module example.com/b\n\ngo 1.26\n")
	write("../b/c/c.go", "package c\n\nconst Word = \"one\"\n")
	env := append(os.Environ(), SourceEnv+"=", "GOENV="+filepath.Join(top, "goenv"), "GOFLAGS=-mod=mod")
	var said bytes.Buffer
	const hint = "note: example.com/fresh imports os/exec: there are no processes, and starting one fails with \"function not implemented\"\n"
	o := BuildOptions{Package: ".", Dir: dir, Output: filepath.Join(top, "fresh.elf"), Keep: keep, Env: env, Stderr: &said}
	build := func(o BuildOptions) []byte {
		t.Helper()
		if _, err := Build(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		image, err := os.ReadFile(o.Output)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	fresh := func(o BuildOptions) bool {
		o.Loaders, o.EntrySymbol, o.KernelPackage, o.Stderr = AllLoaders, EntrySymbol, KernelPackage, io.Discard
		_, _, ok := o.inputs().image()
		return ok
	}
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	write("../go/VERSION", "")
	write("../go/bin/go", fmt.Sprintf("#!/bin/sh\ntest -e %s/off && exit 1\nexec %s \"$@\"\n", top, real))
	if err := os.Chmod(filepath.Join(top, "go/bin/go"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(top, "go/bin")+":"+os.Getenv("PATH"))
	first := build(o)
	if !fresh(o) {
		t.Fatal("a second build would ask the go command")
	}
	if said.String() != hint {
		t.Errorf("the first build says %q", &said)
	}
	write("../off", "")
	if !bytes.Equal(build(o), first) {
		t.Error("without a go command the image is another one")
	}
	if said.String() != strings.Repeat(hint, 2) {
		t.Errorf("both builds say %q", &said)
	}

	others := map[string]func(*BuildOptions){
		"tags":      func(o *BuildOptions) { o.Tags = "x" },
		"gcflags":   func(o *BuildOptions) { o.GCFlags = "-N -l" },
		"ldflags":   func(o *BuildOptions) { o.LDFlags = "-X main.x=1" },
		"a flag":    func(o *BuildOptions) { o.Flags = []string{"-trimpath=true"} },
		"parts":     func(o *BuildOptions) { o.Parts = []string{"network"} },
		"the net":   func(o *BuildOptions) { o.Net = true },
		"variables": func(o *BuildOptions) { o.Env = append(o.Env, "GOEXPERIMENT=none") },
		"a package": func(o *BuildOptions) { o.Package = "main.go" },
		"a folder":  func(o *BuildOptions) { o.Dir = top },
		"a test":    func(o *BuildOptions) { o.Test = true },
	}
	for name, change := range others {
		other := o
		change(&other)
		if fresh(other) {
			t.Errorf("%s: it is taken for the same build", name)
		}
	}

	record, err := filepath.Glob(filepath.Join(keep, inputsPrefix+"*"))
	if err != nil || len(record) != 1 {
		t.Fatalf("remembered: %q, %v", record, err)
	}
	main := filepath.Join(dir, "main.go")
	if write("x_windows.go", "package main\n"); !fresh(o) {
		t.Error("a file for Windows makes it another one")
	}
	for _, tt := range []struct {
		name   string
		change func()
	}{
		{"a new file", func() { write("more.go", "package main\n") }},
		{"a file of the same size and time", func() {
			fi, err := os.Stat(main)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(main)
			if err != nil {
				t.Fatal(err)
			}
			write("main.go", strings.Replace(string(text), "println", "pRintln", 1))
			if err := os.Chtimes(main, fi.ModTime(), fi.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		{"another module's file", func() { write("../b/c/c.go", "package c\n\nconst Word = \"two\"\n") }},
		{"a file that is gone", func() { os.Remove(filepath.Join(dir, "more.go")) }},
		{"a profile", func() { write("default.pgo", "") }},
		{"go.mod", func() { write("../b/go.mod", "module example.com/b\n\ngo 1.25\n") }},
		{"go.sum", func() { write("go.sum", "") }},
		{"a workspace", func() { write("../go.work", "go 1.26\n\nuse ./a\n") }},
		{"go env -w", func() { write("../goenv", "GOAMD64=v3\n") }},
		{"the go command", func() { write("../go/bin/go", "") }},
		{"another module's vendor", func() { write("vendor/modules.txt", "") }},
		{"an assembly file", func() { write("../b/c/x_amd64.s", "") }},
	} {
		tt.change()
		if fresh(o) {
			t.Errorf("%s: it is taken for what it was", tt.name)
		}
		// The stamps are made those of now, as by a build.
		text, err := os.ReadFile(record[0])
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(text), "\n")
		for line := range strings.Lines(rest) {
			_, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			now, _ := stamp(path)
			head += "\n" + now + " " + path
		}
		if err := os.WriteFile(record[0], []byte(head+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if !fresh(o) {
			t.Fatalf("%s: the test cannot put it right", tt.name)
		}
	}
}

// TestFreshUnsure: nothing is remembered of a build that says something, whose sources are new, that
// embeds files, or that has a flag which may name one.
func TestFreshUnsure(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, spoil := range map[string]func(*BuildOptions, *inputs){
		"":            func(*BuildOptions, *inputs) {},
		"says":        func(o *BuildOptions, _ *inputs) { io.WriteString(o.Stderr, "note") },
		"new":         func(_ *BuildOptions, in *inputs) { in.before = now.Add(-time.Hour) },
		"embeds":      func(_ *BuildOptions, in *inputs) { in.packages([]listed{{Dir: dir, EmbedFiles: []string{"a"}}}) },
		"-overlay":    func(o *BuildOptions, _ *inputs) { o.Flags = []string{"-overlay=x"} },
		"-tags":       func(o *BuildOptions, _ *inputs) { o.Tags = "x windows" },
		"GOFLAGS":     func(o *BuildOptions, _ *inputs) { o.goflags = []string{"-modfile=x"} },
		"-buildvcs":   func(o *BuildOptions, _ *inputs) { o.Flags = []string{"-buildvcs=true"} },
		"TestFlags":   func(o *BuildOptions, _ *inputs) { o.TestFlags = []string{"-cover"}; o.read = o.inputs() },
		"PATH@latest": func(o *BuildOptions, _ *inputs) { o.Package = "example.com/x@latest"; o.read = o.inputs() },
	} {
		o := BuildOptions{Package: ".", Dir: dir, Keep: keep, Stderr: io.Discard}
		o.read = o.inputs()
		o.read.before = now.Add(time.Hour)
		spoil(&o, o.read)
		o.read.packages([]listed{{Dir: dir}})
		o.read.toolchain(&o)
		o.read.keep(&kept{key: "key"}, []byte("image"))
		_, err := os.Stat(o.read.file)
		if kept := err == nil; kept != (name == "" && hasChangeTimes) {
			t.Errorf("%q: remembered %v, %v", name, kept, err)
		}
		os.Remove(o.read.file)
	}
}

// TestOtherSystem: a file is left out exactly where the go command leaves it out for its name.
func TestOtherSystem(t *testing.T) {
	for name, want := range map[string]bool{
		"x.go": false, "windows.go": false, "x_.go": false, "amd64.s": false, "windows_test.go": false,
		"x_linux.go": false, "x_amd64.s": false, "x_linux_amd64.go": false, "x_arm_amd64.go": false,
		"x_unix.go": false, "x_windows_linux.go": false, "windows_amd64.go": false, "x_amd64_test.go": false,
		"x_windows.go": true, "x_arm64.s": true, "x_windows_amd64.go": true, "x_linux_arm.go": true,
		"_js.go": true, "x_zos_test.go": true, "x_386.s": true, "x_aix.y.go": true,
	} {
		if got := isOther(name); got != want {
			t.Errorf("isOther(%s) = %v; want %v", name, got, want)
		}
		ctxt := build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc",
			OpenFile: func(string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("package x\n")), nil
			}}
		if reads, err := ctxt.MatchFile(t.TempDir(), name); err != nil || reads == want &&
			!strings.HasPrefix(name, "_") {
			t.Errorf("MatchFile(%s) = %v, %v", name, reads, err)
		}
	}
}

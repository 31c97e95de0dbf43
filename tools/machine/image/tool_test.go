package image

// The wrapper of the go command's tools: what it does to their arguments, and the
// whole of it, with the guest's kernel and with ours. The wrapper is this test.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	RunTool()
	os.Exit(m.Run())
}

// put writes files of a folder, named by path.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestToolArguments(t *testing.T) {
	dir := t.TempDir()
	cfg := filepath.Join(dir, "theirs")
	const theirs = "# import config\npackagefile fmt=/c/fmt\npackagefile k/arch=/c/own\n"
	put(t, dir, map[string]string{
		"theirs":     theirs,
		archivesFile: "packagefile k/arch=/c/arch\npackagefile k=/c/k\n",
		"response":   "-o\nout\n-p\nmain\n-importcfg\n" + cfg + "\n" + marker + "abc\na\\\\b\\nc.go\n",
	})
	added := filepath.Join(dir, importFile)
	const added2 = "packagefile k=/c/k\n"
	for _, tt := range []struct {
		tool  string
		args  []string
		want  []string // CFG stands for a new file
		extra string   // lines in it
	}{
		{"compile", []string{"-V=full"}, []string{"-V=full"}, ""},
		{"link", []string{"-V=full"}, []string{"-V=full"}, ""},
		{"compile", []string{"-p", "fmt", "-importcfg", cfg, "a.go"}, []string{"-p", "fmt", "-importcfg", cfg, "a.go"}, ""},
		{"compile", []string{"-p", "main", "-importcfg", cfg, "a.go"}, []string{"-p", "main", "-importcfg", cfg, "a.go"}, ""},
		{"compile", []string{"-p", "fmt", "-N", marker + "1", "-importcfg", cfg, "main"}, []string{"-p", "fmt", "-N", "-importcfg", cfg, "main"}, ""},
		{"compile", []string{"-p", "main", marker + "1", "-importcfg", cfg, "a.go"}, []string{"-p", "main", "-importcfg", "CFG", "a.go", added}, added2},
		{"compile", []string{"@" + filepath.Join(dir, "response")}, []string{"-o", "out", "-p", "main", "-importcfg", "CFG", "a\\b\nc.go", added}, added2},
		{"link", []string{"-importcfg", cfg, "main.a"}, []string{"-importcfg", "CFG", "main.a"}, added2},
	} {
		f := compileArgs
		if tt.tool == "link" {
			f = linkArgs
		}
		got, err := f(dir, slices.Clone(tt.args))
		if err != nil {
			t.Errorf("%sArgs(%q) failed: %v", tt.tool, tt.args, err)
			continue
		}
		if tt.extra != "" {
			if i := slices.Index(got, "-importcfg"); i >= 0 && got[i+1] != cfg {
				text, err := os.ReadFile(got[i+1])
				if err != nil || string(text) != theirs+tt.extra {
					t.Errorf("%sArgs(%q): importcfg %q, %v; want %q", tt.tool, tt.args, text, err, theirs+tt.extra)
				}
				got[i+1] = "CFG"
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%sArgs(%q) = %q; want %q", tt.tool, tt.args, got, tt.want)
		}
	}
	if _, err := compileArgs(dir, []string{"-p", "main", marker + "1"}); err == nil {
		t.Error("compileArgs without -importcfg = nil error; want one")
	}
	if _, err := linkArgs(dir, []string{"@" + filepath.Join(dir, "nosuch")}); err == nil {
		t.Error("linkArgs(@nosuch) = nil error; want one")
	}
}

func TestRunTool(t *testing.T) {
	for _, tt := range []struct {
		tool string
		args []string
		want int
	}{
		{"/bin/sh", []string{"-c", "exit 0"}, 0},
		{"/bin/sh", []string{"-c", "exit 7"}, 7},
		{"/bin/sh", []string{"-c", "kill -9 $$"}, 1},
		{"/no/such/tool", nil, 1},
		{"/no/such/link", []string{"-importcfg", "/no/such/file"}, 1},
	} {
		if got := runTool(t.TempDir(), tt.tool, tt.args); got != tt.want {
			t.Errorf("runTool(%s %q) = %d; want %d", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestMarkedGCFlags(t *testing.T) {
	const m = marker + "h"
	for _, tt := range []struct {
		goflags []string
		gcflags string
		want    []string
	}{
		{nil, "", []string{m}},
		{nil, "-N -l", []string{m, "-N -l " + m}},
		{nil, "all=-N", []string{m, "all=-N " + m}},
		{[]string{"-gcflags=-N", "-gcflags=fmt="}, "x/...=-S", []string{m, "-N " + m, "fmt= " + m, "x/...=-S " + m}},
	} {
		o := BuildOptions{GCFlags: tt.gcflags, goflags: tt.goflags}
		var got []string
		for _, a := range o.markedGCFlags(&kernel{hash: "h"}) {
			got = append(got, strings.TrimPrefix(a, "-gcflags="))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("with GOFLAGS %q and -gcflags %q: %q; want %q", tt.goflags, tt.gcflags, got, tt.want)
		}
	}
}

func TestToolexecQuotes(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/a/b": "/a/b", "/a b": "'/a b'", "/it's": `"/it's"`} {
		if got, err := (&kernel{dir: dir}).toolexec(); err != nil || got != exe+" "+toolWord+" "+want {
			t.Errorf("toolexec(%s) = %s, %v; want it to end in %s", dir, got, err, want)
		}
	}
	if got, err := (&kernel{dir: `"'`}).toolexec(); err == nil {
		t.Errorf("toolexec(both quotes) = %s; want an error", got)
	}
}

// snapshot is the contents of a folder.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, p)
			return err
		}
		text, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %x\n", p, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hasSymbol reports whether an ELF file defines a symbol.
func hasSymbol(t *testing.T, file, name string) bool {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
}

// guestModule is a copy of the guest with a package that does not import its kernel
// and has a test, and a small library with one.
func guestModule(t *testing.T) BuildOptions {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a module") // the space has to be quoted for the go command
	if err := os.CopyFS(dir, os.DirFS(guest)); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{
		"plain/main.go":   "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(answer()) }\n\nfunc answer() int { return 42 }\n",
		"plain/a_test.go": "package main\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { _ = answer() }\n",
		"lib/lib.go":      "package lib\n",
	})
	return BuildOptions{
		Package: "./plain", Dir: dir, Output: filepath.Join(t.TempDir(), "out.elf"),
		EntrySymbol: "guest/boot.entry", KernelPackage: "guest/kernel", Stderr: t.Output(),
	}
}

// hasGuestKernel reports whether the guest's kernel is in a file. The program itself
// is not: this kernel never starts it, so the linker drops it.
func hasGuestKernel(t *testing.T, file string) bool {
	t.Helper()
	return hasSymbol(t, file, "guest/boot.entry.abi0")
}

// TestBuildWithoutKernel: a program gets the kernel, its files stay as they are, and
// neither build takes the other's results from the cache.
func TestBuildWithoutKernel(t *testing.T) {
	o := guestModule(t)
	before := snapshot(t, o.Dir)
	first, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !hasGuestKernel(t, o.Output) {
		t.Error("the image lacks the kernel")
	}
	if after := snapshot(t, o.Dir); after != before {
		t.Errorf("the build changed the module:\n%s\nwas\n%s", after, before)
	}

	ordinary := filepath.Join(t.TempDir(), "plain")
	cmd := exec.Command("go", "build", "-o", ordinary, "./plain")
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if hasGuestKernel(t, ordinary) {
		t.Error("an ordinary build has the kernel: it took the main package of ours from the cache")
	}

	file1, err := os.ReadFile(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if file2, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(file1, file2) || again.BuildID != first.BuildID {
		t.Errorf("a second build differs: build ID %s, was %s (%v)", again.BuildID, first.BuildID, err)
	}

	// Another kernel, by one instruction in its assembly, which no export data shows.
	asm := filepath.Join(o.Dir, "boot", "entry_amd64.s")
	src, err := os.ReadFile(asm)
	if err != nil {
		t.Fatal(err)
	}
	put(t, o.Dir, map[string]string{"boot/entry_amd64.s": strings.Replace(string(src), "hello:\n", "hello:\n\tNOP\n", 1)})
	other, err := Build(context.Background(), o)
	if err != nil || other.BuildID == first.BuildID {
		t.Errorf("with another kernel: %+v, %v; want another build ID than %s", other, err, first.BuildID)
	}

	// With flags of the user's for all packages, of which the last that matches counts.
	o.GCFlags = "guest/...=-N"
	if _, err := Build(context.Background(), o); err != nil || !hasGuestKernel(t, o.Output) {
		t.Errorf("with -gcflags=%s: %v; want the kernel in it", o.GCFlags, err)
	}
	o.Env = append(os.Environ(), "GOFLAGS=-gcflags=guest/...=-B")
	o.GCFlags = ""
	if _, err := Build(context.Background(), o); err != nil || !hasGuestKernel(t, o.Output) {
		t.Errorf("with -gcflags in GOFLAGS: %v; want the kernel in it", err)
	}
}

// TestBuildTest: a test binary of a main package, of an ordinary one and of one of
// the standard library, which can import nothing else.
func TestBuildTest(t *testing.T) {
	o := guestModule(t)
	o.Test, o.Output = true, t.TempDir()
	for pkg, name := range map[string]string{"./plain": "plain.test.elf", "errors": "errors.test.elf"} {
		o.Package = pkg
		b, err := Build(context.Background(), o)
		if err != nil {
			t.Errorf("the test binary of %s: %v", pkg, err)
			continue
		}
		if filepath.Base(b.Path) != name || !hasGuestKernel(t, b.Path) {
			t.Errorf("the test binary of %s: %+v; want %s with the kernel", pkg, b, name)
		}
	}
	o.Package = "./lib"
	if b, err := Build(context.Background(), o); !errors.Is(err, ErrNoTests) {
		t.Errorf("the test binary of a package without tests = %+v, %v; want %v", b, err, ErrNoTests)
	}
	o.Package, o.Dir, o.KernelPackage, o.EntrySymbol = "../../../tracer", "", "", ""
	if b, err := Build(context.Background(), o); !errors.Is(err, ErrKernelTest) || !strings.Contains(err.Error(), "go test ../../../tracer") {
		t.Errorf("the test binary of a package of the kernel = %+v, %v; want %v", b, err, ErrKernelTest)
	}
	o.Package, o.Inet = "net", true
	if b, err := Build(context.Background(), o); !errors.Is(err, ErrNoKernel) || !strings.Contains(err.Error(), "imports net, of which") {
		t.Errorf("the test binary of net with the network stack = %+v, %v; want %v", b, err, ErrNoKernel)
	}
}

func TestBuildWithoutRunTool(t *testing.T) {
	toolReady = false
	defer func() { toolReady = true }()
	if b, err := Build(context.Background(), guestModule(t)); !errors.Is(err, ErrNoTool) {
		t.Errorf("Build without RunTool = %+v, %v; want %v", b, err, ErrNoTool)
	}
}

func TestTestPackages(t *testing.T) {
	o := guestModule(t)
	put(t, o.Dir, map[string]string{"bad/bad.go": "packag bad\n"})
	pkgs, err := TestPackages(context.Background(), o, []string{"./plain", "./lib", "./bad", "errors"})
	if err != nil || len(pkgs) != 4 {
		t.Fatalf("TestPackages = %+v, %v; want 4", pkgs, err)
	}
	for _, p := range pkgs {
		want := TestPackage{ImportPath: p.ImportPath, Dir: filepath.Join(o.Dir, strings.TrimPrefix(p.ImportPath, "guest/")), Root: o.Dir, Main: true, Err: p.Err}
		switch p.ImportPath {
		case "guest/plain":
			want.HasTests = true
		case "errors":
			want.HasTests, want.Standard, want.Main = true, true, false
			want.Root, want.Dir = p.Root, filepath.Join(p.Root, "src", "errors")
		case "guest/bad":
			if !errors.Is(p.Err, ErrLoad) {
				t.Errorf("%s: %v; want %v", p.ImportPath, p.Err, ErrLoad)
			}
		}
		if p != want || (p.Err != nil) != (p.ImportPath == "guest/bad") || p.Root == "" {
			t.Errorf("%s = %+v; want %+v", p.ImportPath, p, want)
		}
	}
	put(t, o.Dir, map[string]string{"none/README": ""})
	for _, pattern := range []string{"x_test.go", "./none/..."} {
		if pkgs, err := TestPackages(context.Background(), o, []string{pattern}); !errors.Is(err, ErrNoPackage) {
			t.Errorf("TestPackages(%s) = %+v, %v; want %v", pattern, pkgs, err, ErrNoPackage)
		}
	}
}

package main

// `zf test` with the guest of package qemu's tests in the kernel's place, changed so
// that it ends by itself in the way that is wanted: what counts here is what zf makes
// of it. Tests that really run are those of package qemu, end to end.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/u-root/u-root/pkg/cpio"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// endingGuest is a copy of the guest's module that does at once what label says.
func endingGuest(t *testing.T, label string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../qemu/testdata/guest")); err != nil {
		t.Fatal(err)
	}
	asm := filepath.Join(dir, "boot", "entry_amd64.s")
	src, err := os.ReadFile(asm)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(src, []byte("\nreceive:\n"), []byte("\nreceive:\n\tJMP "+label+"\n"), 1)
	if bytes.Equal(changed, src) {
		t.Fatal("the guest has no label receive")
	}
	for name, text := range map[string]string{
		"boot/entry_amd64.s": string(changed),
		"lib/lib.go":         "package lib\n",
		"lib/lib_test.go":    "package lib\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n",
		"none/none.go":       "package none\n",
		"bad/bad_test.go":    "package bad\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { undefined() }\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTestVerdict(t *testing.T) {
	for _, tt := range []struct {
		label, args, pkg string
		code             int
		stdout           string // a regular expression
		says             string // on standard error
	}{
		{"exit", "", "./lib", 0, `^ok  \tguest/lib\t\d+\.\d{3}s\n$`, ""},
		{"exit", "-v", "./lib", 0, `^M\nok  \tguest/lib\t\d+\.\d{3}s\n$`, ""},
		{"exit", "-bench=x", "./lib", 0, `^M\nok  \tguest/lib\t\d+\.\d{3}s\n$`, ""},
		{"trace", "", "./lib", 1, `^M\nFAIL\tguest/lib\t\d+\.\d{3}s\n$`, ""},
		{"program", "", "errors", 1, `^M\nzf test: the program exited with status 5\nFAIL\terrors\t\d+\.\d{3}s\n$`, ""},
		{"reset", "", "./lib", 3, `^M\nzf test: triple fault (?s:.*); registers:\n([EC].*\n)+FAIL\tguest/lib\t\d+\.\d{3}s\n$`, ""},
		{"exit", "", "./none", 0, `^\?   \tguest/none\t\[no test files\]\n$`, ""},
		{"exit", "", "./bad", 2, `^FAIL\tguest/bad \[build failed\]\n$`, "undefined: undefined"},
		{"exit", "", "./nosuch", 2, `^FAIL\t\S+ \[setup failed\]\n$`, "nosuch"},
		{"exit", "-m=4", "./lib", 2, `^FAIL\tguest/lib \[build failed\]\n$`, "too small RAM size"},
		{"exit", "-files=nosuch", "./lib", 2, `^FAIL\tguest/lib \[build failed\]\n$`, "-files: stat nosuch"},
	} {
		var stdout, stderr bytes.Buffer
		c := calling("test", append(strings.Fields(tt.args), tt.pkg), &stderr)
		f := testFlags{machine: machine{streams: c.streams, quiet: true}}
		if _, err := f.parse(c); err != nil {
			t.Fatalf("zf test %s: %v", tt.args, err)
		}
		f.build.Dir, f.build.KernelPackage, f.build.EntrySymbol = endingGuest(t, tt.label), "guest/kernel", "guest/boot.entry"
		f.qemu.Timeout = time.Minute
		pkgs, err := image.TestPackages(context.Background(), f.build, []string{tt.pkg})
		if err != nil || len(pkgs) != 1 {
			t.Fatalf("TestPackages(%s) = %+v, %v", tt.pkg, pkgs, err)
		}
		code := f.test(context.Background(), pkgs[0], &stdout)
		if code != tt.code || !regexp.MustCompile(tt.stdout).MatchString(stdout.String()) || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("zf test %s %s of a guest that ends by %s = %d, %q, %q; want %d, %s, %q",
				tt.args, tt.pkg, tt.label, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.says)
		}
	}
}

// TestTestPrepare: what the kernel and the test binary are told.
func TestTestPrepare(t *testing.T) {
	args := []string{"-run", "A|B c", "-count=2", "-short", "-v", "-timeout", "30s", "-append", "panic=halt", "errors"}
	var stderr bytes.Buffer
	c := calling("test", args, &stderr)
	f := testFlags{machine: machine{streams: c.streams, quiet: true}}
	if _, err := f.parse(c); err != nil {
		t.Fatalf("parse(%q): %v", args, err)
	}
	f.build.Dir, f.build.KernelPackage, f.build.EntrySymbol = endingGuest(t, "exit"), "guest/kernel", "guest/boot.entry"
	pkgs, err := image.TestPackages(context.Background(), f.build, []string{"errors"})
	if err != nil {
		t.Fatal(err)
	}
	test := packageTest{testFlags: &f, streams: f.streams, pkg: pkgs[0], build: f.build}
	m, sym, code := test.prepare(context.Background(), t.TempDir())
	if m == nil {
		t.Fatalf("prepare = %d, %s", code, stderr.String())
	}
	defer sym.Close()
	root := pkgs[0].Root
	if want := []string{"report=off", "arg0=/tmp/errors.test", "cwd=" + root + "/src/errors", "env.GOROOT=" + root}; !slices.Equal(m.options, want) {
		t.Errorf("kernel options %q; want %q", m.options, want)
	}
	want := []string{"-test.paniconexit0", "-test.run=A|B c", "-test.count=2", "-test.short=true", "-test.v=true", "-test.timeout=30s"}
	if !slices.Equal(m.arguments, want) {
		t.Errorf("arguments %q; want %q", m.arguments, want)
	}
	if m.append != "panic=halt" || m.qemu.Timeout != 30*time.Second+testGrace || m.qemu.MemoryMiB != testMemory {
		t.Errorf("-append %q, machine %v, %d MiB; want panic=halt, 40s, 512", m.append, m.qemu.Timeout, m.qemu.MemoryMiB)
	}
	file, err := os.Open(m.qemu.Initrd)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := cpio.ArchiveFromReader(cpio.Newc.Reader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tmp", root + "/src/errors/errors_test.go", root + "/src/go.mod", root + "/VERSION", root + "/src/testdata"} { // as there are no f.sources
		if _, ok := a.Get(name); !ok {
			t.Errorf("the archive for the guest lacks %s", name)
		}
	}
}

// TestAddPackage: a package's folder with its data, but no other package.
func TestAddPackage(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"go.mod", "top.go", "testdata/t", "a/testdata/u", "a/b/b.go", "a/b/b_test.go", "a/b/data.txt", "a/b/testdata/x.go", "a/b/testdata/sub/y.go",
		"a/b/files/z", "a/b/files/without", "a/b/sub/sub.go", "a/b/sub/w", "a/b/mod/go.mod", "a/b/.hidden/h", "a/b/files/.dot", "a/c/testdata/v", "other/testdata/o",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := new(initrd.Archive)
	err := addPackage(a, image.TestPackage{Dir: filepath.Join(root, "a", "b"), Root: root}, filepath.Join(root, "a", "b", "files", "without"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"go.mod": true, "top.go": false, "testdata/t": true, "a/testdata/u": true, "a/b/b_test.go": true, "a/b/data.txt": true, "a/b/testdata/x.go": true,
		"a/b/testdata/sub/y.go": true, "a/b/files/z": true, "a/b/files/without": false, "a/b/sub": true, "a/b/sub/w": false, "a/b/mod/go.mod": false, "a/b/.hidden/h": false, "a/b/files/.dot": true,
		"a/c": false, "other": false,
	} {
		if got := a.Has(filepath.Join(root, name)); got != want {
			t.Errorf("%s is in the archive: %v; want %v", name, got, want)
		}
	}
}

// TestGuestFiles: an archive and folders become one, and the command line's form.
func TestGuestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	var first initrd.Archive
	first.AddFile("/f", 0o600, []byte("1"))
	first.AddFile("/x/g", 0o600, []byte("1"))
	archive := filepath.Join(t.TempDir(), "first.cpio")
	if err := first.WriteFile(archive); err != nil {
		t.Fatal(err)
	}
	g := guestFiles{archive: archive, trees: []string{dir, dir + ":/y:z", filepath.Join(dir, "f") + ":/single", filepath.Join(dir, "f")}}
	path, size, err := g.write(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() != size {
		t.Errorf("write gives %d bytes; want those of the file: %v, %v", size, fi, err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := cpio.ArchiveFromReader(cpio.Newc.Reader(file))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"f": "2", "x/g": "1", "y:z/f": "2", "single": "2"} {
		r, ok := a.Get(name)
		data := make([]byte, r.FileSize)
		if ok {
			_, err = r.ReadAt(data, 0)
		}
		if !ok || string(data) != want || err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("%s = %q, %v, %v; want %q", name, data, ok, err, want)
		}
	}
	if path, size, err := new(guestFiles).write(t.TempDir(), nil); path != "" || size != 0 || err != nil {
		t.Errorf("write without files = %q, %d, %v; want nothing", path, size, err)
	}
}

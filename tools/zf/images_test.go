package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

const imageSource = `
int counter;
__attribute__((noinline)) int %[1]s(int n) { counter += n; return counter; }
int main(void) { return %[1]s(1); }
`

// cImage builds a C program, or with an object's name a module, with a function
// called name.
func cImage(t *testing.T, path, name string, flags ...string) *symbol.File {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(t.TempDir(), name+".c")
	if err := os.WriteFile(src, fmt.Appendf(nil, imageSource, name), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-g", "-O1", "-o", path, src}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: run tools/setup.sh test, which installs it\n%s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sym.Close() })
	return sym
}

func linked(t *testing.T, path, name string) *symbol.File {
	t.Helper()
	return cImage(t, path, name, "-no-pie", "-Wl,--build-id")
}

// traceOf is a trace of a kernel of the build, in a function of the image.
func traceOf(t *testing.T, sym *symbol.File, name string) string {
	t.Helper()
	n := sym.Named(name)
	if len(n) != 1 {
		t.Fatalf("Named(%s) = %+v; want one", name, n)
	}
	return fmt.Sprintf("zf1 begin 1 panic early thread=0 build=%s\nzf1 reason test\nzf1 #0 pc %#x sp 0x0 fp 0x0 boot\n", sym.BuildID(), n[0].Start)
}

// symbolized runs zf symbolize over a log.
func symbolized(log string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = dispatchIn(context.Background(), append([]string{"symbolize"}, append([]string{"-index=off"}, args...)...), strings.NewReader(log), &o, &e)
	return code, o.String(), e.String()
}

// TestSeveralImages: files and folders of all layouts; the trace's build ID says
// which image it is.
func TestSeveralImages(t *testing.T) {
	dir := t.TempDir()
	a := linked(t, filepath.Join(dir, "a.elf"), "in_a")
	b := linked(t, filepath.Join(dir, "b.elf"), "in_b")
	put := func(sym *symbol.File, path string) string {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(sym.Name(), path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	id := b.BuildID()
	put(b, "debug/.build-id/"+id[:2]+"/"+id[2:]+".debug")
	put(b, "ids/"+id[:2]+"/"+id[2:])
	put(b, "tree/usr/lib/what.ever")
	put(a, "tree/usr/lib/other")
	// A file that lies about its build is not believed.
	aid := a.BuildID()
	put(b, "debug/.build-id/"+aid[:2]+"/"+aid[2:]+".debug")
	if err := os.WriteFile(filepath.Join(dir, "tree/note.txt"), []byte("no ELF file"), 0o666); err != nil {
		t.Fatal(err)
	}

	both := traceOf(t, a, "in_a") + traceOf(t, b, "in_b")
	for _, c := range []struct {
		name, args string
		both       bool
	}{
		{"two files", "-e a.elf -e b.elf", true},
		{"the other way round", "-e b.elf -e a.elf", true},
		{"a file and a .build-id folder", "-e a.elf -e debug", true},
		{"a file and a folder of build IDs", "-e a.elf -e ids", true},
		{"a folder alone", "-e tree", true},
		{"folders", "-e debug -e tree", true},
		{"only one", "-e debug", false},
	} {
		args := strings.Fields(c.args)
		for i := 1; i < len(args); i += 2 {
			args[i] = filepath.Join(dir, args[i])
		}
		code, out, errs := symbolized(both, args...)
		if want := exitOK; c.both != (code == want) || !strings.Contains(out, "in_b+0x0") || c.both != strings.Contains(out, "in_a+0x0") {
			t.Errorf("%s: status %d, %s%s", c.name, code, errs, out)
		}
		if !c.both && !strings.Contains(errs, "build "+aid+", which is in none of the folders given") {
			t.Errorf("%s: %q; want that the folder has not got it", c.name, errs)
		}
	}
	third := linked(t, filepath.Join(dir, "c.elf"), "in_c")
	code, _, errs := symbolized(traceOf(t, third, "in_c"), "-e", a.Name(), "-e", b.Name())
	want := fmt.Sprintf("zf: the trace comes from build %s, but the ELF files are\nzf:   %s: build %s\nzf:   %s: build %s\n",
		third.BuildID(), a.Name(), aid, b.Name(), id)
	if code != exitUsage || !strings.HasPrefix(errs, want) {
		t.Errorf("none fits: status %d, %q; want %d, %q", code, errs, exitUsage, want)
	}
}

// TestFolderOfModules: a folder with a kernel and its modules resolves an oops.
func TestFolderOfModules(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "modules")
	kernel := linked(t, filepath.Join(dir, "vmlinux"), "do_it")
	mod := cImage(t, filepath.Join(dir, "kernel/drivers/my-drv.ko"), "probe", "-c")
	if err := os.Rename(mod.Name(), mod.Name()+".debug"); err != nil {
		t.Fatal(err)
	}
	// Without symbols it is of no use; the other is the better one.
	if err := os.WriteFile(mod.Name(), []byte("stripped"), 0o666); err != nil {
		t.Fatal(err)
	}
	size := func(sym *symbol.File, name string) uint64 {
		n := sym.Named(name)
		if len(n) != 1 {
			t.Fatalf("Named(%s) = %+v; want one", name, n)
		}
		return n[0].Span
	}
	log := fmt.Sprintf("RIP: 0010:probe+0x4/%#x [my_drv]\nCall Trace:\n do_it+0x4/%#x\n gone+0x4/0x10 [gone]\n",
		size(mod, "probe"), size(kernel, "do_it"))
	code, out, errs := symbolized(log, "-e", dir)
	if code != exitOK || !strings.Contains(out, "[my_drv]\n    probe+0x4 ") || !strings.Contains(out, "\n    do_it+0x4 ") ||
		!strings.Contains(out, "probe.c:3") || !strings.Contains(errs, "gone.ko too") {
		t.Errorf("status %d, %s%s; want both frames resolved", code, errs, out)
	}
	// The kernel and one module as files.
	code, files, errs := symbolized(log, "-e", kernel.Name(), "-e", mod.Name()+".debug")
	if code != exitOK || files != out {
		t.Errorf("as files: status %d, %s%s; want %s", code, errs, files, out)
	}
	// The module as a distribution has it.
	b, err := os.ReadFile(mod.Name() + ".debug")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(mod.Name()+".xz", packed.Bytes(), 0o666)
	}
	for _, name := range []string{mod.Name(), mod.Name() + ".debug"} {
		if err == nil {
			err = os.Remove(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-e", dir}, {"-e", kernel.Name(), "-e", mod.Name() + ".xz"}} {
		if code, compressed, errs := symbolized(log, args...); code != exitOK || compressed != out {
			t.Errorf("compressed, %q: status %d, %s%s; want %s", args, code, errs, compressed, out)
		}
	}
	d := &buildid.Folder{Root: dir, Module: foreign.ModuleName, Open: buildid.Open}
	if err := d.List(); err != nil {
		t.Fatal(err)
	}
	if findIn(d, "../../modules/vmlinux", "") != nil || findIn(d, "", "../vmlinux") != nil {
		t.Error("a name out of a trace leads out of the folder")
	}
}

func TestImagesErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"-e names folders only", []string{"-e", dir, "-bias", "0x1000"}},
		{"a file's name is wanted", []string{"-e", ""}},
		{"zf build", []string{"-e", dir, "-e", dir + "/none"}},
		{"give one of them", []string{"-e", dir, "-map", dir + "/none"}},
		{"true or false", []string{"-e", dir, "-reconnect=perhaps"}},
		{"leave -reconnect out", []string{"-e", dir, "-reconnect"}},
	} {
		code, out, errs := symbolized("text\n", c.args...)
		if code != exitUsage || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, %q, %q; want %d and a line with %q", c.args, code, errs, out, exitUsage, c.want)
		}
	}
}

// TestSymbolizeFolderByName: in a folder a program without a build ID in its report is found by
// its name, and of several of a name the one whose folders are most like those of the report.
func TestSymbolizeFolderByName(t *testing.T) {
	dir := t.TempDir()
	build := func(path string, flags ...string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-g", "-O1", "-o", path, "../format/trace/testdata/foreign/faults.c"}, flags...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	build("usr/bin/app", "-pie", "-fPIE")
	build("opt/bin/app", "-pie", "-fPIE", "-Ddeep=shallow")
	build("a/lib/libone.so.1", "-shared", "-fPIC")
	at := func(path, name string) uint64 {
		t.Helper()
		sym, err := openSymbols(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		defer sym.Close()
		found := sym.Named(name)
		if len(found) != 1 {
			t.Fatalf("%s has %d functions %s", path, len(found), name)
		}
		return found[0].Start + 4
	}
	in := fmt.Sprintf("    #0 0x7f0000001000  (/usr/bin/app+%#x)\n    #1 0x7f0000001001  (/opt/bin/app+%#x)\n    #2 0x7f0000001002  (/lib/libone.so.1+%#x)\n    #3 0x7f0000001003  (app+%#[1]x)\n    #4 0x7f0000001003  (/lib/libtwo.so+%#[1]x)\n",
		at("usr/bin/app", "deep"), at("opt/bin/app", "shallow"), at("a/lib/libone.so.1", "deep"))
	var out, fail bytes.Buffer
	code := zfTo("symbolize", []string{"-index=off", "-e", dir}, strings.NewReader(in), &out, &fail)
	var got []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "#") {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "+")
			got = append(got, name)
		}
	}
	// There is no telling which of the two "app" is.
	if code != exitOK || strings.Join(got, " ") != "deep shallow deep" || fail.Len() > 0 {
		t.Errorf("%d, %q, %s\n%s", code, got, fail.Bytes(), out.Bytes())
	}
}

package image

// Every file that cannot become an image is refused with an error that names the
// cause: files that are damaged in one place each, and anything at all (fuzz).

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestFinishRefuses(t *testing.T) {
	le := binary.LittleEndian
	// prog returns the i-th program header of a type in a file.
	prog := func(file []byte, typ elf.ProgType, i int) []byte {
		for p := file[64:]; ; p = p[56:] {
			if elf.ProgType(le.Uint32(p)) == typ {
				if i == 0 {
					return p
				}
				i--
			}
		}
	}
	tests := []struct {
		name   string
		change func(file []byte) []byte
		want   error
		says   string
	}{
		{"empty", func([]byte) []byte { return nil }, ErrNotELF, "too few"},
		{"script", func([]byte) []byte { return []byte("#!/bin/sh\n" + strings.Repeat("echo\n", 99)) }, ErrNotELF, "magic"},
		{"32-bit", func(f []byte) []byte { f[4] = 1; return f }, ErrNotELF, "ELFCLASS32"},
		{"big-endian", func(f []byte) []byte { f[5] = 2; return f }, ErrNotELF, "ELFDATA2MSB"},
		{"arm64", func(f []byte) []byte { le.PutUint16(f[18:], uint16(elf.EM_AARCH64)); return f }, ErrNotELF, "EM_AARCH64"},
		{"pie", func(f []byte) []byte { le.PutUint16(f[16:], uint16(elf.ET_DYN)); return f }, ErrDynamic, "buildmode"},
		{"dynamic", func(f []byte) []byte {
			le.PutUint32(prog(f, elf.PT_GNU_STACK, 0), uint32(elf.PT_DYNAMIC))
			return f
		}, ErrDynamic, "without cgo"},
		{"cut in headers", func(f []byte) []byte { return f[:100] }, ErrLayout, "cut off"},
		{"cut in sections", func(f []byte) []byte { return f[:0x300] }, ErrLayout, "cut off"},
		{"cut in text", func(f []byte) []byte { return f[:0x2000] }, ErrLayout, "beyond the file"},
		{"no loads", func(f []byte) []byte { le.PutUint16(f[56:], 2); return f }, ErrLayout, "nothing to load"},
		{"wrong address", func(f []byte) []byte { le.PutUint64(prog(f, elf.PT_LOAD, 0)[16:], 0x400000); return f }, ErrLayout, "link with -T 0x200000"},
		{"bias differs", func(f []byte) []byte {
			p := prog(f, elf.PT_LOAD, 2)
			le.PutUint64(p[16:], le.Uint64(p[16:])+0x1000)
			return f
		}, ErrLayout, "one value"},
		{"bss in the middle", func(f []byte) []byte {
			p := prog(f, elf.PT_LOAD, 0)
			le.PutUint64(p[40:], le.Uint64(p[32:])+1)
			return f
		}, ErrLayout, "follows a bss"},
		{"overlap", func(f []byte) []byte { le.PutUint64(prog(f, elf.PT_LOAD, 0)[40:], 0x10000000); return f }, ErrLayout, "overlaps"},
		{"above 4 GiB", func(f []byte) []byte { le.PutUint64(prog(f, elf.PT_LOAD, 2)[40:], 1<<33); return f }, ErrLayout, "4 GiB"},
		{"entry in data", func(f []byte) []byte { le.PutUint64(f[24:], le.Uint64(prog(f, elf.PT_LOAD, 2)[16:])); return f }, ErrLayout, "not in the text"},
		{"no note", func(f []byte) []byte { le.PutUint32(prog(f, elf.PT_NOTE, 0), uint32(elf.PT_NULL)); return f }, ErrLayout, "no PT_NOTE"},
		{"note elsewhere", func(f []byte) []byte { le.PutUint64(prog(f, elf.PT_NOTE, 0)[8:], 0x2000); return f }, ErrLayout, "first page"},
		{"no Go note", func(f []byte) []byte { f[le.Uint64(prog(f, elf.PT_NOTE, 0)[8:])+8] = 9; return f }, ErrLayout, "Go's build ID"},
		{"no GNU note", func(f []byte) []byte { f[0xfdc+12] = 'X'; return f }, ErrLayout, "no GNU build ID"},
		{"room in use", func(f []byte) []byte { f[0xf00] = 1; return f }, ErrLayout, "in use at file offset 0xf00"},
		{"finished", func(f []byte) []byte { f, _ = Finish(f, AllLoaders); return f }, ErrLayout, "finished already"},
		{"no room", func(f []byte) []byte {
			// As many section headers as leave 16 bytes.
			n := (0xf78 - le.Uint64(f[40:])) / 64
			last := le.Uint64(f[40:]) + uint64(le.Uint16(f[60:]))*64
			for off := last; off+64 <= 0xf78; off += 64 {
				clear(f[off : off+64])
			}
			le.PutUint16(f[60:], uint16(n))
			return f
		}, ErrNoRoom, "bytes"},
	}
	for _, tt := range tests {
		file := tt.change(slices.Clone(linked(t)))
		out, err := Finish(file, AllLoaders)
		if out != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Finish(%s) = %d bytes, %v; want %v with %q", tt.name, len(out), err, tt.want, tt.says)
		}
	}
}

// TestFinishForeign takes an ordinary executable of this system: the test itself.
func TestFinishForeign(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(file, AllLoaders); err == nil {
		t.Error("Finish(this test) = nil error; want one")
	}
}

// FuzzFinish: no file makes Finish or Inspect panic, and what Finish accepts is an
// image by Inspect's account.
func FuzzFinish(f *testing.F) {
	// A small file, since the fuzzer is slow on megabytes.
	f.Add(smallImage())
	f.Add([]byte(elf.ELFMAG))
	f.Fuzz(func(t *testing.T, file []byte) {
		before := slices.Clone(file)
		out, err := Finish(file, AllLoaders)
		if !bytes.Equal(file, before) {
			t.Fatal("Finish changed its input")
		}
		info, ierr := Inspect(file)
		if (info == nil) != (ierr != nil) {
			t.Fatalf("Inspect = %v, %v", info, ierr)
		}
		if err != nil {
			return
		}
		info, err = Inspect(out)
		if err != nil || info.Loaders != AllLoaders || len(out) != len(file) {
			t.Fatalf("Inspect(Finish(file)) = %+v, %v; want %v", info, err, AllLoaders)
		}
		if info.MinRAM() < info.End {
			t.Fatalf("MinRAM() = %d is less than the end %d", info.MinRAM(), info.End)
		}
	})
}

// smallImage returns the least that Finish accepts: headers, notes, a page of text.
func smallImage() []byte {
	file := make([]byte, 2*pageSize)
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1,
		Entry: TextAddress, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	writeStruct(file, 0, &h)
	const bias = TextAddress - pageSize
	notes := binary.LittleEndian.AppendUint32(nil, 4)
	notes = binary.LittleEndian.AppendUint32(notes, 4)
	notes = binary.LittleEndian.AppendUint32(notes, noteGo)
	notes = append(notes, "Go\x00\x00abcd"...)
	goSize := uint64(len(notes))
	notes = binary.LittleEndian.AppendUint32(notes, 4)
	notes = binary.LittleEndian.AppendUint32(notes, 20)
	notes = binary.LittleEndian.AppendUint32(notes, noteGNUBuildID)
	notes = append(notes, "GNU\x0001234567890123456789"...)
	at := uint64(pageSize - len(notes))
	copy(file[at:], notes)
	writeStruct(file, 64, &elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Vaddr: bias, Paddr: bias, Filesz: 2 * pageSize, Memsz: 3 * pageSize, Align: pageSize})
	writeStruct(file, 64+56, &elf.Prog64{Type: uint32(elf.PT_NOTE), Flags: uint32(elf.PF_R),
		Off: at, Vaddr: bias + at, Paddr: bias + at, Filesz: goSize, Memsz: goSize, Align: 4})
	return file
}

func TestSmallImage(t *testing.T) {
	if _, err := Finish(smallImage(), AllLoaders); err != nil {
		t.Errorf("Finish(smallImage()) failed: %v; the fuzz target's seed is of no use", err)
	}
}

// TestBuildRefuses builds small modules that are each wrong in one way.
func TestBuildRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const kernel = "import _ \"m/kernel\"\n"
	write("go.mod", "module m\n\ngo 1.26\n")
	write("kernel/kernel.go", "package kernel\n")
	write("badkernel/kernel.go", "package badkernel\n\nvar x = nosuch\n")
	write("plain/main.go", "package main\nfunc main() {}\n")
	write("lib/lib.go", "package lib\n")
	write("cgo/main.go", "package main\n"+kernel+"import \"C\"\nfunc main() {}\n")
	write("cgodep/c/c.go", "package c\nimport \"C\"\n")
	write("cgodep/main.go", "package main\n"+kernel+"import _ \"m/cgodep/c\"\nfunc main() {}\n")
	write("broken/main.go", "package main\n"+kernel+"func main() { undefined() }\n")
	write("good/main.go", "package main\n"+kernel+"func main() {}\n")
	write("noentry/main.go", "package main\n"+kernel+"func main() {}\n")

	write("syntax/main.go", "packag main\n")
	write("short", "\x7fE")
	write("fifos/x", "")
	for _, name := range []string{"fifo", "fifos/good.elf"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("nomod/go.mod", "module nomod\n\nnonsense\n")
	write("nomod/main.go", "package main\nfunc main() {}\n")

	env := func(kv ...string) []string { return append(os.Environ(), kv...) }
	for _, tt := range []struct {
		name string
		o    BuildOptions
		want error
		says string
	}{
		{"nothing", BuildOptions{}, ErrNoPackage, "name one"},
		{"missing", BuildOptions{Package: "./nosuch"}, ErrNoPackage, "./nosuch"},
		{"missing import path", BuildOptions{Package: "m/nosuch"}, ErrNoPackage, "m/nosuch"},
		{"many", BuildOptions{Package: "./..."}, ErrNoPackage, "name one"},
		{"flag as package", BuildOptions{Package: "-x"}, ErrNoPackage, "-x"},
		{"library", BuildOptions{Package: "./lib"}, ErrNotMain, "package lib"},
		{"no kernel", BuildOptions{Package: "./plain", KernelPackage: "m/nokernel"}, ErrNoKernel, "m/nokernel"},
		{"broken kernel", BuildOptions{Package: "./plain", KernelPackage: "m/badkernel"}, ErrNoKernel, "undefined: nosuch"},
		{"wrong version", BuildOptions{Package: "m@"}, ErrNoPackage, "want PATH@VERSION"},
		{"no test files", BuildOptions{Package: "./plain", Test: true}, ErrNoTests, "./plain"},
		{"cgo", BuildOptions{Package: "./cgo"}, ErrCgo, "m/cgo uses it (main.go)"},
		{"cgo in a dependency", BuildOptions{Package: "./cgodep"}, ErrCgo, "m/cgodep/c uses it (c.go)"},
		{"CGO_ENABLED=1", BuildOptions{Package: "./good", Env: env("CGO_ENABLED=1")}, ErrCgo, "unset it"},
		{"GOARCH", BuildOptions{Package: "./good", Env: env("GOARCH=arm64")}, ErrTarget, "unset GOARCH"},
		{"GOOS", BuildOptions{Package: "./good", Env: env("GOOS=darwin")}, ErrTarget, "unset GOOS"},
		{"buildmode", BuildOptions{Package: "./good", BuildMode: "pie"}, ErrBuildMode, "-buildmode=pie"},
		{"GOFLAGS", BuildOptions{Package: "./good", Env: env("GOFLAGS=-buildmode=pie")}, ErrBuildMode, "-buildmode=pie"},
		{"go env", BuildOptions{Package: "./good", Env: env("GOTOOLCHAIN=nonsense")}, ErrGoEnv, "go env failed: go: invalid GOTOOLCHAIN"},
		{"wrong GOFLAGS", BuildOptions{Package: "./good", Env: env("GOFLAGS=nonsense")}, ErrLoad, "cannot load package ./good: go: parsing $GOFLAGS"},
		{"syntax error", BuildOptions{Package: "./syntax"}, ErrLoad, "cannot load package ./syntax: "},
		{"go.mod", BuildOptions{Package: ".", Dir: "nomod"}, nil, "unknown directive: nonsense"},
		{"no such folder/", BuildOptions{Package: "./good", Output: "nosuch/"}, ErrOutput, "nosuch/ is not a folder"},
		{"file/", BuildOptions{Package: "./good", Output: "go.mod/"}, ErrOutput, "go.mod/ is not a folder"},
		{"text file", BuildOptions{Package: "./good", Output: "go.mod"}, ErrOutput, "go.mod already exists and is not an object file"},
		{"short file", BuildOptions{Package: "./good", Output: "short"}, ErrOutput, "short already exists and is not an object file"},
		{"fifo", BuildOptions{Package: "./good", Output: "fifo"}, ErrOutput, "fifo is not a regular file"},
		{"fifo in a folder", BuildOptions{Package: "./good", Output: "fifos"}, ErrOutput, "fifos/good.elf is not a regular file"},
		{"compile error", BuildOptions{Package: "./broken"}, ErrCompile, "./broken"},
		{"no entry symbol", BuildOptions{Package: "./noentry", EntrySymbol: "m/boot.entry"}, nil, ""},
		{"no go", BuildOptions{Package: "./good"}, ErrNoGo, "install Go"},
		{"no folder", BuildOptions{Package: "./good", Output: "no/such/folder/x.elf"}, ErrOutput, "there is no folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "no go" {
				t.Setenv("PATH", "")
			}
			var stderr bytes.Buffer
			tt.o.Dir, tt.o.Stderr = filepath.Join(dir, tt.o.Dir), &stderr
			if tt.o.KernelPackage == "" {
				tt.o.KernelPackage = "m/kernel"
			}
			if tt.o.Output == "" {
				tt.o.Output = "out.elf"
			}
			b, err := Build(context.Background(), tt.o)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Build = %v, %v; want %v with %q", b, err, tt.want, tt.says)
			}
			// The go command's own words may be many.
			if tt.o.Dir == dir && tt.name != "broken kernel" && strings.Contains(err.Error(), "\n") {
				t.Errorf("Build's error has more than one line: %v", err)
			}
			if tt.want == ErrCompile && !strings.Contains(stderr.String(), "main.go:3:15: undefined: undefined") {
				t.Errorf("the compiler's message is not passed on: %q", stderr.String())
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(hidden) > 0 || slices.ContainsFunc(left, func(f string) bool { return strings.HasSuffix(f, ".elf") }) {
		t.Errorf("failed builds left files behind: %v %v", left, hidden)
	}
}

// withoutTemporary has a go command in PATH that fails if it is not given a folder of ours for its
// temporary files, which it leaves when it is interrupted.
func withoutTemporary(t *testing.T) {
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := `#!/bin/sh
case "$TMPDIR" in
*/zf-build-*) exec "` + path + `" "$@" ;;
esac
echo "go $*: TMPDIR=$TMPDIR" >&2
exit 1
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestBuild(t *testing.T) {
	o := guestOptions(t)
	withoutTemporary(t)
	o.Output = filepath.Dir(o.Output) // a folder: the default name in it
	b, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(o.Output, "guest.elf"))
	if err != nil || int64(len(file)) != b.Size || b.Loaders != AllLoaders || len(b.BuildID) != 40 {
		t.Errorf("Build = %+v; file of %d bytes, %v", b, len(file), err)
	}
	entries, err := os.ReadDir(o.Output)
	if err != nil || len(entries) != 1 {
		t.Errorf("the output folder has %v, %v; want the image alone", entries, err)
	}

	// An image is replaced, an empty file too; the null device discards it.
	if err := os.Truncate(filepath.Join(o.Output, "guest.elf"), 0); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{o.Output + "/", filepath.Join(o.Output, "guest.elf"), os.DevNull} {
		again := o
		again.Output = output
		if b, err := Build(context.Background(), again); err != nil || b.Size != int64(len(file)) {
			t.Errorf("Build(-o %s) = %+v, %v; want %d bytes", output, b, err, len(file))
		}
	}
	if fi, err := os.Lstat(os.DevNull); err != nil || fi.Mode().Type() != os.ModeDevice|os.ModeCharDevice {
		t.Errorf("Lstat(%s) = %v, %v; want a device still", os.DevNull, fi, err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Build(cancelled) = %v; want %v", err, context.Canceled)
	}
}

// TestBuildStripped: an image without symbols boots as well.
func TestBuildStripped(t *testing.T) {
	o := guestOptions(t)
	o.LDFlags, o.Loaders = "-s -w", PVH
	if b, err := Build(context.Background(), o); err != nil || b.Loaders != PVH {
		t.Errorf("Build(-s -w) = %+v, %v; want an image for pvh", b, err)
	}
}

func TestDefaultOutput(t *testing.T) {
	for _, tt := range []struct{ path, arg, want string }{
		{"example.com/a/hello", "./hello", "hello.elf"},
		{"example.com/hello/v2", ".", "hello.elf"},
		{"v2", ".", "v2.elf"},
		{"command-line-arguments", "x/boot.go", "boot.elf"},
	} {
		if got := DefaultOutput(tt.path, tt.arg); got != tt.want {
			t.Errorf("DefaultOutput(%q, %q) = %q; want %q", tt.path, tt.arg, got, tt.want)
		}
	}
}

package qemu

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A Go runtime that nobody has described to the kernel, as in an image that zf has not finished:
// the kernel says so as it boots. Programs run on it all the same, and a trace is cut short and
// says that.

const unknownLine = "\r\nruntime unknown: nobody has told the kernel where this Go runtime keeps goroutines, so their traces" +
	" will be cut short; build the image with zf build\r\n"

// TestUnknownRuntime: a runtime of which the kernel knows nothing, and one without two of the
// things that it looks for.
func TestUnknownRuntime(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	checkUnknown(t, withoutItems(t, len(image.GoItems()), all), unknownLine)
	some := func(item string) bool { return item == "field runtime.g.sched.sp" || item == "field runtime.m.curg" }
	checkUnknown(t, withoutItems(t, 2, some), fmt.Sprintf("\r\nruntime not all known: 2 of %d things about this Go runtime were not found, as field runtime.g.sched.sp,", len(image.GoItems()))+
		" so traces may be cut short; build with a version of Go that this kernel was tested with, 1.25 to 1.27, or use a newer Zeroframe\r\n")
}

// TestStrippedRuntime: an image without DWARF or symbols has the kernel's table all the same, and a
// runtime that is known is not spoken of.
func TestStrippedRuntime(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-w", "-s"} {
		t.Run("ldflags"+flags, func(t *testing.T) {
			var said bytes.Buffer
			path := filepath.Join(t.TempDir(), "lab.elf")
			_, err := image.Build(context.Background(), image.BuildOptions{
				Package: "../kernel/crashlab", Output: path, LDFlags: flags, Env: testEnv(), Stderr: &said,
			})
			if err != nil || strings.Contains(said.String(), "cut short") {
				t.Fatalf("%v\n%s", err, &said)
			}
			_, serial, err := boot(t, Config{Kernel: path}, "crash=go.nil-write")
			if err != nil || strings.Contains(serial, "\nruntime ") || !strings.Contains(serial, "zf1 stop goexit (complete)") {
				t.Errorf("%v: the runtime is not known, or the trace not whole:\n%s", err, serial)
			}
		})
	}
}

// withoutItems returns a crash lab without those of the n items of the kernel's table of the
// runtime.
func withoutItems(t *testing.T, n int, drop func(item string) bool) string {
	t.Helper()
	path, _ := lab(t, image.AllLoaders)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, s := range all {
		if s.Name != image.KernelPackage+image.GoTableName {
			continue
		}
		// Words 0 and 1 are the table's head.
		for i, item := range image.GoItems() {
			if !drop(item) {
				continue
			}
			for _, p := range f.Progs {
				if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
					at := p.Off + s.Value - p.Vaddr + uint64(2+i)*8
					binary.LittleEndian.PutUint64(file[at:], image.GoUnknown)
					done++
				}
			}
		}
	}
	if done != n {
		t.Fatalf("%d items of the table were found; want %d", done, n)
	}
	damaged := filepath.Join(t.TempDir(), "lab.elf")
	if err := os.WriteFile(damaged, file, 0o755); err != nil {
		t.Fatal(err)
	}
	return damaged
}

// checkUnknown boots a crash lab whose runtime is not known.
func checkUnknown(t *testing.T, path, want string) {
	t.Helper()
	res, serial, err := boot(t, Config{Kernel: path}, "crash=go.exit")
	if err != nil || res.Outcome != Exited || res.Program != 7 {
		t.Errorf("go.exit: %v, status %d, %v; want status 7", res.Outcome, res.Program, err)
	}
	if !strings.Contains(serial, want) {
		t.Errorf("the boot report does not say %q:\n%s", want, serial)
	}
	res, serial, err = boot(t, Config{Kernel: path}, "crash=go.nil-write")
	if err != nil || res.Outcome != Traced {
		t.Errorf("go.nil-write: %v, %v; want %v", res.Outcome, err, Traced)
	}
	symbols, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tr := onlyTrace(t, traces(t, symbols, serial))
	if tr.Reason != nilMemory || tr.Complete || tr.End != "outside" || tr.Damaged {
		t.Errorf("the trace: %q, complete %v, %s, damaged %v: %s; want one that is cut short, with outside",
			tr.Reason, tr.Complete, tr.End, tr.Damaged, tr.chain())
	}
}

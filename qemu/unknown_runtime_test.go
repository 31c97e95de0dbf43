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

	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A Go runtime that nobody has described to the kernel: zf build says so and what to do,
// and so does the kernel as it boots. Programs run on it all the same, and a trace is cut
// short and says that.

const unknownLine = "\r\nruntime unknown: nobody has told the kernel where this Go runtime keeps goroutines, so their traces" +
	" will be cut short; build the image with zf build, and without -ldflags=-s or -w\r\n"

func TestUnknownRuntime(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-w", "-s"} {
		t.Run(flag, func(t *testing.T) {
			var said bytes.Buffer
			path := filepath.Join(t.TempDir(), "lab.elf")
			_, err := image.Build(context.Background(), image.BuildOptions{
				Package: "../kernel/crashlab", Output: path, LDFlags: flag, Env: testEnv(), Stderr: &said,
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, &said)
			}
			start, end := "note: traces of goroutines will be cut short, and the image will not be able to list them: it has no ", "; build without -ldflags="+flag+"\n"
			if s := said.String(); !strings.HasPrefix(s, start) || !strings.HasSuffix(s, end) {
				t.Errorf("the build said %q; want %q ... %q", s, start, end)
			}
			checkUnknown(t, path, unknownLine)
		})
	}
}

// TestPartlyKnownRuntime: a runtime without two of the things that the kernel looks for.
func TestPartlyKnownRuntime(t *testing.T) {
	t.Parallel()
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
			if item != "field runtime.g.sched.sp" && item != "field runtime.m.curg" {
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
	if done != 2 {
		t.Fatalf("%d items of the table were found; want 2", done)
	}
	damaged := filepath.Join(t.TempDir(), "lab.elf")
	if err := os.WriteFile(damaged, file, 0o755); err != nil {
		t.Fatal(err)
	}
	checkUnknown(t, damaged, fmt.Sprintf("\r\nruntime not all known: 2 of %d things about this Go runtime were not found, as field runtime.g.sched.sp,", len(image.GoItems()))+
		" so traces may be cut short; build with a version of Go that this kernel was tested with, 1.25 to 1.27, or use a newer Zeroframe\r\n")
	// And a runtime that is known is not spoken of.
	if _, serial, _ := boot(t, Config{Kernel: path}, "crash=go.exit"); strings.Contains(serial, "\nruntime ") {
		t.Error("the boot report speaks of a runtime that is known")
	}
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

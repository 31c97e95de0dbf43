package symbol

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// buildC builds a small C program without a C library: a few kilobytes.
func buildC(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "c.elf")
	args := append([]string{"-O2", "-nostdlib", "-static", "-ffreestanding", "-o", out, "testdata/csample.c"}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	return out
}

// FuzzELF: a file from anywhere gives answers or errors, in bounded memory.
func FuzzELF(f *testing.F) {
	add := func(b []byte) {
		if len(b) > 100<<10 {
			f.Fatalf("a seed of %d bytes", len(b))
		}
		f.Add(b, uint64(0x401010))
		f.Add(b, uint64(0x200044))
	}
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-3"}, {"-g", "-gz"}, {"-s"}} {
		b, err := os.ReadFile(buildC(f, flags...))
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
	for _, arch := range []string{"riscv64", "arm64"} {
		b, err := os.ReadFile(filepath.Join("testdata", "objects", arch+".o"))
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
	add(makeELF(nil, note("GNU\x00", 3, []byte{1, 2, 3})))
	add(smallGo())
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := NewFile(bytes.NewReader(b), int64(len(b)), "fuzz")
		if err != nil {
			return
		}
		file.CanResolve()
		file.BuildID()
		for _, a := range []uint64{addr, addr + 8, 0, 0x401000, 0x200000} {
			file.Lookup(a, false)
			file.Lookup(a, true)
			file.Nearest(a)
			file.FullNamesAll([]uint64{a}, [][]lookup.Call{file.Lookup(a, false)})
			file.SPDelta(a)
			file.Details(a, false)
			file.Locals(a)
		}
		file.Symbol("main.main")
		file.Declared(addr)
		file.Places("csample.c", 3)
		if m := file.Code(); m != nil {
			m.CallBefore(addr)
		}
		runtime.ReadMemStats(&after)
		// Entries of DWARF take more room than in the file, so may compressed
		// sections: by a constant factor.
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1024*len(b)); got > limit {
			t.Errorf("%d bytes allocated for a file of %d", got, len(b))
		}
	})
}

func BenchmarkLookupGo(b *testing.B) {
	f := openTest(b, buildGo(b, "testdata/gosample", ""))
	start, end := f.goTable().TextRange()
	pc := uint64(start)
	for b.Loop() {
		f.Lookup(pc, true)
		if pc += 4099; pc >= uint64(end) {
			pc = uint64(start)
		}
	}
}

func BenchmarkLookupC(b *testing.B) {
	f := openTest(b, buildC(b, "-g"))
	s := f.FirstSection(".text")
	pc := s.Addr
	for b.Loop() {
		f.Lookup(pc, true)
		if pc += 3; pc >= s.Addr+s.Len {
			pc = s.Addr
		}
	}
}

// BenchmarkOpenGo is what a command pays before its first answer.
func BenchmarkOpenGo(b *testing.B) {
	path := buildGo(b, "testdata/gosample", "")
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if len(f.Lookup(0x200100, false)) == 0 {
			b.Fatal("no answer")
		}
		f.Close()
	}
}

package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a program that the tests need.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s(the tests need what tools/setup.sh installs)", name, strings.Join(args, " "), err, msg)
	}
}

// buildPair builds the C sample with flags and, in another folder, without. Both have
// the same code and two units, so that there is more than one of anything.
func buildPair(t *testing.T, flags ...string) (dir, with, without string) {
	t.Helper()
	source, err := filepath.Abs("testdata/csample.c")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	other := filepath.Join(dir, "other.c")
	text := "static inline int thrice(int x) { return 3 * x; }\nextern volatile int sink;\n" +
		"int second(int n) { for (int i = 0; i < n; i++) sink = thrice(sink); return thrice(n); }\n"
	if err := os.WriteFile(other, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	build := func(name string, flags ...string) string {
		sub := filepath.Join(dir, name)
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		link := []string{"-nostdlib", "-static", "-o", "prog"}
		for _, file := range []string{source, other} {
			object := strings.TrimSuffix(filepath.Base(file), ".c") + ".o"
			command(t, sub, "gcc", append([]string{"-c", "-O2", "-ffreestanding", "-fdebug-prefix-map=" + sub + "=/x", "-o", object, file}, flags...)...)
			link = append(link, object)
		}
		command(t, sub, "gcc", link...)
		return filepath.Join(sub, "prog")
	}
	return dir, build("with", flags...), build("without", "-g")
}

// sameFrames holds the answers of two files with the same code against each other
// and returns how many of them have inlined calls.
func sameFrames(t *testing.T, got, want *File) (inlined int) {
	t.Helper()
	text := want.FirstSection(".text")
	for pc := text.Addr; pc < text.Addr+text.Len; pc++ {
		g, w := got.Lookup(pc, false), want.Lookup(pc, false)
		if !equalFrames(g, w) {
			t.Fatalf("Lookup(%#x) = %+v; want %+v", pc, g, w)
		}
		if len(w) > 1 {
			inlined++
		}
	}
	return inlined
}

// TestSplitDWARF: a program whose debug information lies in .dwo files or a .dwp file
// answers as one that has its own.
func TestSplitDWARF(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(version, func(t *testing.T) {
			_, with, without := buildPair(t, version, "-gsplit-dwarf")
			dir := filepath.Dir(with)
			want := openTest(t, without)
			if f := openTest(t, with); f.FirstSection(".debug_info") == nil {
				t.Fatal("no skeletons")
			} else if n := sameFrames(t, f, want); n < 50 {
				t.Errorf("%d addresses with inlined calls; want more", n)
			}
			all := openTest(t, with)
			var addrs []uint64
			for pc := want.FirstSection(".text").Addr; pc < want.FirstSection(".text").Addr+want.FirstSection(".text").Len; pc++ {
				addrs = append(addrs, pc)
			}
			for i, frames := range all.LookupAll(addrs, false) {
				if w := want.Lookup(addrs[i], false); !equalFrames(frames, w) {
					t.Fatalf("LookupAll of %#x = %+v; want %+v", addrs[i], frames, w)
				}
			}
			if version == "-gdwarf-4" { // binutils' dwp knows no other
				command(t, dir, "dwp", "-o", "prog.dwp", "csample.dwo", "other.dwo")
			} else {
				command(t, dir, llvmDWP(t), "-o", "prog.dwp", "csample.dwo", "other.dwo")
			}
			dwos, _ := filepath.Glob(filepath.Join(dir, "*.dwo"))
			if len(dwos) != 2 {
				t.Fatalf("%q; want two files", dwos)
			}
			for _, dwo := range dwos {
				if err := os.Remove(dwo); err != nil {
					t.Fatal(err)
				}
			}
			sameFrames(t, openTest(t, with), want)
			if err := os.Remove(with + ".dwp"); err != nil {
				t.Fatal(err)
			}
			// Without them there are lines, but no inlined calls.
			f := openTest(t, with)
			addr, _, _ := f.Symbol("loop")
			if got := f.Lookup(addr, false); len(got) != 1 || got[0].Function != "loop" || got[0].Line == 0 {
				t.Errorf("Lookup(loop) = %+v; want its line", got)
			}
		})
	}
}

// llvmDWP returns the name of LLVM's dwp, which may have a version at its end.
func llvmDWP(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("llvm-dwp"); err == nil {
		return path
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if paths, _ := filepath.Glob(filepath.Join(dir, "llvm-dwp-[0-9]*")); len(paths) > 0 {
			return paths[len(paths)-1]
		}
	}
	t.Fatal("no llvm-dwp in PATH: the tests need what tools/setup.sh installs")
	return ""
}

// TestSplitDWARFMismatch: a .dwo file of another build counts for nothing.
func TestSplitDWARFMismatch(t *testing.T) {
	_, with, _ := buildPair(t, "-gdwarf-5", "-gsplit-dwarf")
	dir := filepath.Dir(with)
	dwo := filepath.Join(dir, "csample.dwo")
	b, err := os.ReadFile(dwo)
	if err != nil {
		t.Fatal(err)
	}
	f := newTest(t, b)
	info := f.FirstSection(".debug_info.dwo")
	b[info.Off+12] ^= 1 // in the ID
	if err := os.WriteFile(dwo, b, 0o666); err != nil {
		t.Fatal(err)
	}
	prog := openTest(t, with)
	addr, _, _ := prog.Symbol("_start")
	for pc := addr; pc < addr+16; pc++ {
		if got := prog.Lookup(pc, false); len(got) != 1 || got[0].Line == 0 {
			t.Errorf("Lookup(%#x) = %+v; want one call with its line", pc, got)
		}
	}
}

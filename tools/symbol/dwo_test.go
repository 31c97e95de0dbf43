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

// TestSplitDWARF: of a program whose debug information lies in .dwo files (-gsplit-dwarf) there are
// names and lines, but no inlined calls, and a note that says so.
func TestSplitDWARF(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(version, func(t *testing.T) {
			_, with, without := buildPair(t, version, "-gsplit-dwarf")
			f, want := openTest(t, with), openTest(t, without)
			if f.FirstSection(".debug_info") == nil {
				t.Fatal("no skeletons")
			}
			text, inlined := want.FirstSection(".text"), 0
			for pc := text.Addr; pc < text.Addr+text.Len; pc++ {
				g, w := f.Lookup(pc, false), want.Lookup(pc, false)
				if len(g) != min(len(w), 1) || len(w) == 1 && !equalFrames(g, w) ||
					len(w) > 1 && (g[0].Function != w[len(w)-1].Function || g[0].File != w[0].File || g[0].Line != w[0].Line) {
					t.Fatalf("Lookup(%#x) = %+v; want the function and line of %+v", pc, g, w)
				}
				if len(w) > 1 {
					inlined++
				}
			}
			if inlined < 50 {
				t.Errorf("%d addresses with inlined calls; want more", inlined)
			}
			if err := f.Incomplete(); err == nil || !strings.Contains(err.Error(), "-gsplit-dwarf") {
				t.Errorf("Incomplete() = %v; want it of -gsplit-dwarf", err)
			}
		})
	}
}

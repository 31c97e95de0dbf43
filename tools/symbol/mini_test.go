package symbol

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// miniSource has functions of each kind: in .dynsym, and not.
const miniSource = `
int counter;
__attribute__((noinline)) static int hidden(int n) { return n * counter; }
__attribute__((noinline)) int shown(int n) { return hidden(n) + 1; }
int main(void) { return shown(2); }
`

// withMini builds a program as Fedora's tools do: stripped, with a packed symbol table of what is
// not in .dynsym. It returns it as it was linked, too.
func withMini(t *testing.T) (whole, mini string) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	sh := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(at("a.c"), []byte(miniSource), 0o644); err != nil {
		t.Fatal(err)
	}
	sh("gcc", "-O1", "-g", "-rdynamic", "-o", at("whole"), at("a.c"))
	dynamic := map[string]bool{}
	for line := range strings.Lines(sh("nm", "-D", "--format=posix", "--defined-only", at("whole"))) {
		dynamic[strings.Fields(line)[0]] = true
	}
	var keep strings.Builder
	for line := range strings.Lines(sh("nm", "--format=posix", "--defined-only", at("whole"))) {
		if f := strings.Fields(line); strings.Contains("Tt", f[1]) && !dynamic[f[0]] {
			keep.WriteString(f[0] + "\n")
		}
	}
	if dynamic["hidden"] || !dynamic["shown"] || !strings.Contains(keep.String(), "hidden\n") {
		t.Fatalf("the sample has other symbols: %v, %q", dynamic, &keep)
	}
	if err := os.WriteFile(at("keep"), []byte(keep.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	sh("objcopy", "--only-keep-debug", at("whole"), at("debug"))
	sh("objcopy", "-S", "--remove-section=.comment", "--keep-symbols="+at("keep"), at("debug"), at("small"))
	b, err := os.ReadFile(at("small"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("small.xz"), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	sh("strip", "-o", at("mini"), at("whole"))
	sh("objcopy", "--add-section", ".gnu_debugdata="+at("small.xz"), at("mini"))
	return at("whole"), at("mini")
}

// TestMini: the functions of a stripped program that brings a symbol table with it are those
// that it had, whatever is asked.
func TestMini(t *testing.T) {
	path, stripped := withMini(t)
	whole, mini := openTest(t, path), openTest(t, stripped)
	if err := mini.CanResolve(); err != nil {
		t.Fatal(err)
	}
	var addrs []uint64
	for _, s := range whole.TextSpans() {
		for addr := s.Low; addr < s.High; addr++ {
			addrs = append(addrs, addr)
		}
	}
	name := func(f *File, addr uint64) string {
		if frames := f.Lookup(addr, false); len(frames) > 0 {
			return frames[len(frames)-1].Function
		}
		return ""
	}
	found := map[string]bool{}
	all := openTest(t, stripped).LookupAll(addrs, false)
	for i, addr := range addrs {
		want, got := name(whole, addr), name(mini, addr)
		if got != want {
			t.Errorf("%#x: %q; want %q", addr, got, want)
		}
		if frames := all[i]; (len(frames) == 0) != (want == "") || want != "" && frames[0].Function != want {
			t.Errorf("%#x of all: %v; want %q", addr, frames, want)
		}
		found[want] = true
	}
	if !found["hidden"] || !found["shown"] || !found["main"] {
		t.Errorf("found %v", found)
	}
	for _, name := range []string{"hidden", "shown"} {
		want, got := whole.Named(name), mini.Named(name)
		if len(want) != 1 || len(got) != 1 || got[0].Start != want[0].Start || got[0].Size != want[0].Size {
			t.Errorf("%s: %+v; want %+v", name, got, want)
		}
	}
	addr, _, ok := whole.Symbol("counter")
	if name, offset, isVar := mini.Variable(addr + 1); !ok || !isVar || name != "counter" || offset != 1 {
		t.Errorf("counter+1 is %s+%d, %v", name, offset, isVar)
	}
	functions := map[string]bool{}
	for fn := range mini.Functions() {
		functions[fn.Name] = true
	}
	if !functions["hidden"] || !functions["main"] {
		t.Errorf("Functions: %v", functions)
	}
	syms, err := mini.MapSymbols()
	names := map[string]byte{}
	for _, s := range syms {
		names[s.Name] = s.Type
	}
	if err != nil || names["hidden"] != 't' || names["shown"] != 'T' || names["counter"] != 'B' {
		t.Errorf("MapSymbols: %v, %v", names, err)
	}
}

// A .gnu_debugdata that is damaged counts as none.
func TestMiniDamaged(t *testing.T) {
	_, path := withMini(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("\xfd7zXZ\x00"))
	if at < 0 {
		t.Fatal("no xz file in the program")
	}
	for _, i := range []int{8, 30, 60, 100} {
		damaged := bytes.Clone(b)
		damaged[at+i] ^= 0x55
		f, err := NewFile(bytes.NewReader(damaged), int64(len(damaged)), "damaged")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Named("shown"); len(got) != 1 {
			t.Errorf("damaged at %d: shown is %v", i, got)
		}
		if got := f.Named("hidden"); len(got) != 0 {
			t.Errorf("damaged at %d: hidden is %v", i, got)
		}
	}
}

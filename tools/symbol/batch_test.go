package symbol

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestLookupAll: many addresses at once have the answers they have alone.
func TestLookupAll(t *testing.T) {
	for _, path := range []string{buildC(t, "-g"), buildC(t, "-g", "-O0"), buildC(t, "-g0"), buildGo(t, "testdata/gosample", ""), buildMany(t)} {
		f := openTest(t, path)
		text := f.FirstSection(".text")
		var addrs []uint64
		step := max(text.Len/5000, 1)
		for pc := text.Addr + text.Len; pc > text.Addr && len(addrs) < 6000; pc -= step {
			addrs = append(addrs, pc)
		}
		addrs = append(addrs, addrs[0], addrs[len(addrs)/2], 0, ^uint64(0))
		for _, ret := range []bool{false, true} {
			// A second file, so that nothing is remembered from the first.
			all := openTest(t, path).LookupAll(addrs, ret)
			for i, addr := range addrs {
				if want := f.Lookup(addr, ret); !reflect.DeepEqual(all[i], want) && len(all[i])+len(want) > 0 {
					t.Fatalf("%s: LookupAll(%#x, %t) = %+v; Lookup: %+v", filepath.Base(path), addr, ret, all[i], want)
				}
			}
		}
	}
}

// buildMany builds a program of many units, of which the odd ones are compiled
// without optimization.
func buildMany(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var objects []string
	for i := range 40 {
		src := filepath.Join(dir, fmt.Sprintf("unit%d.c", i))
		text := fmt.Sprintf("static inline int twice(int x) { return x * %d; }\nint f%d(int n) {\n\tint s = n;\n\tfor (int i = 0; i < n; i++)\n\t\ts += twice(s ^ i);\n\treturn s;\n}\n", i+3, i)
		if i == 0 {
			text += "void _start(void) { for (;;) f0(3); }\n"
		}
		if err := os.WriteFile(src, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, src)
	}
	out := filepath.Join(dir, "many.elf")
	args := append([]string{"-g", "-O2", "-nostdlib", "-static", "-ffreestanding", "-ffunction-sections", "-o", out}, objects...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	return out
}

// answersOf returns what the file says of each address of its text.
func answersOf(t *testing.T, f *File) string {
	t.Helper()
	name := ".text"
	s := f.FirstSection(name)
	var b strings.Builder
	for pc := s.Addr; pc < s.Addr+s.Len; pc++ {
		fmt.Fprintf(&b, "%#x %+v\n", pc, f.Lookup(pc, false))
	}
	return b.String()
}

// TestFormsOfFiles: the same program says the same, however its debug information
// is kept.
func TestFormsOfFiles(t *testing.T) {
	for _, path := range []string{buildC(t, "-g"), buildMany(t)} {
		want := answersOf(t, openTest(t, path))
		if !strings.Contains(want, "Inlined:true") || !strings.Contains(want, ".c Line:") {
			t.Fatalf("answers without inlined calls or lines:\n%.2000s", want)
		}
		for _, args := range [][]string{
			{"--compress-debug-sections=zlib"}, {"--compress-debug-sections=zlib-gnu"}, {"--compress-debug-sections=zstd"},
			{"-R", ".debug_aranges"},
		} {
			out := filepath.Join(t.TempDir(), "out.elf")
			if msg, err := exec.Command("objcopy", append(args, path, out)...).CombinedOutput(); err != nil {
				if strings.Contains(string(msg), "zstd") { // binutils before 2.40, or built without it
					t.Logf("objcopy cannot compress with zstd: %s", msg)
					continue
				}
				t.Fatalf("objcopy: %v\n%s", err, msg)
			}
			if got := answersOf(t, openTest(t, out)); got != want {
				t.Errorf("objcopy %v: other answers:\n%.1000s\nwant:\n%.1000s", args, got, want)
			}
		}
	}
}

// TestNoLines: without .debug_line the calls are there, without the innermost line.
func TestNoLines(t *testing.T) {
	path := buildC(t, "-g")
	out := filepath.Join(t.TempDir(), "out.elf")
	if msg, err := exec.Command("objcopy", "-R", ".debug_line", path, out).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, msg)
	}
	whole, f := openTest(t, path), openTest(t, out)
	s := f.FirstSection(".text")
	for pc := s.Addr; pc < s.Addr+s.Len; pc++ {
		want, got := whole.Lookup(pc, false), f.Lookup(pc, false)
		if hit, ok := whole.funcAt(pc); !ok || hit.name == "" {
			continue // padding: only the lines know of it
		}
		if len(got) != len(want) {
			t.Fatalf("Lookup(%#x) = %+v; want the calls of %+v", pc, got, want)
		}
		for i := range got {
			if got[i].Function != want[i].Function || got[i].File != "" {
				t.Fatalf("Lookup(%#x) = %+v; want the functions of %+v", pc, got, want)
			}
		}
	}
}

// TestSplit: a stripped file is answered with its debug file, and only with that of
// the same build.
func TestSplit(t *testing.T) {
	path := buildC(t, "-g", "-Wl,--build-id=none")
	do := func(name string, args ...string) {
		t.Helper()
		if msg, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, msg)
		}
	}
	for _, tt := range []struct {
		name, folder string
		id, same     bool
	}{
		{"beside it", "", false, true}, {"in .debug", ".debug", false, true}, {"by build ID and name", "", true, true}, {"of another build", "", false, false},
	} {
		dir := t.TempDir()
		whole := path
		if tt.id {
			whole = buildC(t, "-g", "-Wl,--build-id")
		}
		want := answersOf(t, openTest(t, whole))
		debug, stripped := filepath.Join(dir, tt.folder, "c.debug"), filepath.Join(dir, "c.elf")
		if err := os.MkdirAll(filepath.Dir(debug), 0o777); err != nil {
			t.Fatal(err)
		}
		do("objcopy", "--only-keep-debug", whole, debug)
		do("objcopy", "--strip-all", "--add-gnu-debuglink="+debug, whole, stripped)
		if !tt.same {
			b, err := os.ReadFile(debug)
			if err == nil {
				err = os.WriteFile(debug, append(b, 0), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f := openTest(t, stripped)
		if err := f.CanResolve(); (err == nil) != tt.same {
			t.Errorf("%s: CanResolve() = %v", tt.name, err)
		}
		if got := answersOf(t, f); (got == want) != tt.same {
			t.Errorf("%s: answers:\n%.1000s\nwant:\n%.1000s", tt.name, got, want)
		}
	}
}

// TestObject: an object file's sections are far apart, each with its own functions,
// and what their relocations fill in is right: the linked file says the same.
func TestObject(t *testing.T) {
	dir := t.TempDir()
	object, linked := filepath.Join(dir, "c.o"), filepath.Join(dir, "c.elf")
	// With a section for each function the linker keeps them apart too.
	for _, args := range [][]string{
		{"-g", "-O2", "-ffreestanding", "-ffunction-sections", "-c", "-o", object, "testdata/csample.c"},
		{"-nostdlib", "-static", "-Wl,--unique=.text*", "-o", linked, object},
	} {
		if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, msg)
		}
	}
	o, l := openTest(t, object), openTest(t, linked)
	if o.HasUnlinkedDWARF() {
		t.Error("HasUnlinkedDWARF() = true")
	}
	compared := 0
	for _, name := range []string{"loop", "_start"} {
		at, size, ok := o.Symbol(name)
		to, _, ok2 := l.Symbol(name)
		if !ok || !ok2 || size == 0 {
			t.Fatalf("no symbol %s", name)
		}
		for i := range size {
			got, want := o.Lookup(at+i, false), l.Lookup(to+i, false)
			if !reflect.DeepEqual(got, want) || len(got) == 0 || got[0].Line == 0 {
				t.Fatalf("%s+%d: %+v; want %+v", name, i, got, want)
			}
			compared++
		}
		if got := o.Lookup(at+size+1<<20, false); got != nil {
			t.Errorf("far behind %s: %+v; want nothing", name, got)
		}
	}
	if compared < 50 {
		t.Errorf("%d addresses compared; want more", compared)
	}
}

// TestNotELF: files of other systems are named.
func TestNotELF(t *testing.T) {
	for begin, want := range map[string]string{
		"MZ\x90\x00": "a PE file", "\xcf\xfa\xed\xfe": "a Mach-O file", "\xce\xfa\xed\xfe": "a Mach-O file", "\xca\xfe\xba\xbe": "a Mach-O file for several",
	} {
		b := append([]byte(begin), make([]byte, 100)...)
		if _, err := NewFile(bytes.NewReader(b), int64(len(b)), "x"); err == nil || !strings.Contains(err.Error(), "not an ELF file ("+want) {
			t.Errorf("NewFile(%q) = %v; want %s", begin, err, want)
		}
	}
}

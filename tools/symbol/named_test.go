package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

//go:noinline
func namedGeneric[T any](v *T) *T { return v }

// TestNamed: the functions of a name are found by the name that the runtime prints,
// with the distance to what follows; several may have one name.
func TestNamed(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatalf("the test's own file: %v; want ELF, as on Linux", err)
	}
	defer f.Close()
	const pkg = "github.com/zeroframe/zeroframe/tools/symbol."
	want := uint64(reflect.ValueOf(TestNamed).Pointer())
	got := f.Named(pkg + "TestNamed")
	if len(got) != 1 || got[0].Start != want {
		t.Fatalf("Named(TestNamed) = %+v; want one at %#x", got, want)
	}
	last, next := f.Lookup(want+got[0].Span-1, false), f.Lookup(want+got[0].Span, false)
	if len(last) == 0 || last[len(last)-1].Function != pkg+"TestNamed" ||
		len(next) > 0 && next[len(next)-1].Function == pkg+"TestNamed" {
		t.Errorf("Span = %#x: the last byte is in %+v, the one behind it in %+v", got[0].Span, last, next)
	}
	i, s := 1, "s"
	namedGeneric(&i)
	namedGeneric(&s)
	two := f.Named(pkg + "namedGeneric[...]")
	if len(two) != 2 || two[0].Start >= two[1].Start {
		t.Errorf("Named(namedGeneric[...]) = %+v; want two in order", two)
	}
	for _, name := range []string{"", "nosuch", pkg, "[...]"} {
		if got := f.Named(name); len(got) > 0 {
			t.Errorf("Named(%q) = %+v; want none", name, got)
		}
	}
}

// TestNamedClones: a function is found by the name of the source where the compiler has added to
// it, a promoted one beside others, and a clone if there is no function of the bare name.
func TestNamedClones(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.elf")
	var text strings.Builder
	text.WriteString("\t.text\n\t.globl _start\n")
	for _, name := range []string{"_start", "one.llvm.123", "two", "two.llvm.4", "two.cold", "three.lto_priv.0", "four.constprop.0.isra.0", "four.constprop.1.cold", "five.cfi_jt", "six.cold.3", "seven.__uniq.77.llvm.8"} {
		text.WriteString("\t.type " + name + ",@function\n" + name + ":\tnop\n\tret\n\t.size " + name + ", .-" + name + "\n")
	}
	if err := os.WriteFile(src, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and binutils)", err, msg)
	}
	f, err := Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]int{"one": 1, "two": 2, "three": 1, "four": 2, "five": 0, "six": 1, "seven": 1, "two.cold": 1, "one.llvm.123": 1, "one.llvm": 0} {
		if got := f.Named(name); len(got) != want {
			t.Errorf("Named(%s) = %+v; want %d", name, got, want)
		}
	}
}

// TestPrintedName: as the runtime of Go 1.27 prints names, and that of 1.26.
func TestPrintedName(t *testing.T) {
	for _, tt := range []struct{ name, printed, before string }{
		{"main.main", "main.main", "main.main"},
		{"main.f[go.shape.int].func1", "main.f[...].func1", "main.f[...].func1"},
		{"main.f[go.shape.[]int,main.g[int]]", "main.f[...]", "main.f[...]"},
		{"main.(*box[go.shape.[4]int]).each[go.shape.string]", "main.(*box[...]).each[...]", "main.(*box[...]"},
		{"type:.eq.[3]f[go.shape.int]", "type:.eq.[...]f[...]", "type:.eq.[...]"},
		{"main.a[b]c[d]e[f]g", "main.a[...]c[...]g", "main.a[...]g"},
		{"main.f]a[b]", "main.f]a[...]", "main.f]a[...]"},
		{"main.f[", "main.f[", "main.f["},
	} {
		if got := printedName(tt.name); got != tt.printed {
			t.Errorf("printedName(%s) = %s; want %s", tt.name, got, tt.printed)
		}
		if got := printedBefore(tt.name); got != tt.before {
			t.Errorf("printedBefore(%s) = %s; want %s", tt.name, got, tt.before)
		}
	}
}

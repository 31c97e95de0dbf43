package symbol

import (
	"os"
	"reflect"
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

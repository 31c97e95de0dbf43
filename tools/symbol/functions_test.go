package symbol

import (
	"path/filepath"
	"testing"
)

// TestFunctions: each function is where Lookup finds it, in order, under that name.
func TestFunctions(t *testing.T) {
	for _, tt := range []struct {
		path string
		want []string
		min  int
	}{
		{buildC(t, "-g"), []string{"loop", "stop", "rare", "_start", "_start.cold"}, 5},
		{buildC(t, "-g0"), []string{"loop"}, 4},
		{buildC(t, "-s"), nil, 3},
		{buildLabels(t), []string{"_start", "inner", "last", "other"}, 5},
		{buildGo(t, "testdata/gosample", ""), []string{"main.main", "main.deep", "runtime.main", "runtime.rt0_go"}, 1000},
		{buildGo(t, "testdata/gosample", "-s -w"), []string{"main.main", "main.deep", "runtime.main"}, 1000},
		{filepath.Join("testdata", "objects", "arm64.o"), []string{"loop", "_start"}, 2},
	} {
		f := openTest(t, tt.path)
		n, last, names := 0, uint64(0), map[string]bool{}
		for fn := range f.Functions() {
			if n > 0 && fn.Start <= last || fn.End <= fn.Start {
				t.Errorf("%+v comes after %#x", fn, last)
			}
			if got := f.Lookup(fn.Start, false); len(got) == 0 || got[len(got)-1].Function != fn.Name || got[0].Offset != 0 {
				t.Fatalf("%+v; Lookup(%#x) = %+v", fn, fn.Start, got)
			}
			last, names[fn.Name] = fn.Start, true
			n++
		}
		for _, name := range tt.want {
			if !names[name] {
				t.Errorf("%s: no function %s", tt.path, name)
			}
		}
		if n < tt.min {
			t.Errorf("%s: %d functions; want %d at least", tt.path, n, tt.min)
		}
		for range f.Functions() { // ends when it is told to
			break
		}
	}
	for fn := range newTest(t, makeELF(nil)).Functions() {
		t.Errorf("a function of an empty file: %+v", fn)
	}
}

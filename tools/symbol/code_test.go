package symbol

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestStripped: a file without symbols gives the functions that its .eh_frame describes, with
// the same starts as the file with symbols; without that section it gives none.
func TestStripped(t *testing.T) {
	full := buildC(t)
	named, err := Open(full)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if named.FindsFunctions() {
		t.Error("a file with symbols finds functions; want those of the symbols")
	}
	want := named.Code().Funcs()
	if len(want) < 3 {
		t.Fatalf("Code().Funcs() = %v; want those of csample.c", want)
	}
	for _, drop := range []string{"", ".eh_frame"} {
		out := filepath.Join(t.TempDir(), "stripped")
		args := []string{"--strip-all", full, out}
		if drop != "" {
			args = append(args, "--remove-section="+drop)
		}
		if msg, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy: %v\n%s(the tests need binutils)", err, msg)
		}
		f, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.FindsFunctions() != (drop == "") {
			t.Fatalf("without %q FindsFunctions() = %v", drop, f.FindsFunctions())
		}
		if drop != "" {
			if got := f.Lookup(want[0].Start+1, false); got != nil {
				t.Errorf("without %s Lookup = %+v; want nil", drop, got)
			}
			continue
		}
		found := 0
		for _, fn := range want {
			got := f.Lookup(fn.Start+1, false)
			if len(got) == 1 && got[0].Function == fmt.Sprintf("func_%x", fn.Start) && got[0].Offset == 1 {
				found++
			}
		}
		if found*100 < len(want)*95 {
			t.Errorf("without %q %d of %d functions are found", drop, found, len(want))
		}
		if got := f.Lookup(want[0].Start, true); len(got) != 1 || got[0].Offset != 0 {
			t.Errorf("Lookup of a made-up return address = %+v; want the function at its entry", got)
		}
		if got := f.Lookup(0, false); got != nil {
			t.Errorf("Lookup(0) = %+v; want nil", got)
		}
	}
}

// TestCodeOfGo: the functions of a Go file come from its pc table, stripped or not.
func TestCodeOfGo(t *testing.T) {
	f, err := Open(buildGo(t, "testdata/gosample", "-s -w"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := f.Code()
	if f.FindsFunctions() || len(m.Funcs()) < 1000 {
		t.Fatalf("%d functions, found %v; want those of the pc table", len(m.Funcs()), f.FindsFunctions())
	}
	calls := 0
	for _, fn := range m.Funcs() {
		got := f.Lookup(fn.Start, false)
		if n := len(got); n == 0 || got[n-1].Offset != 0 {
			t.Fatalf("%#x begins a function in Code but not in Lookup: %+v", fn.Start, got)
		}
	}
	for _, n := range m.Graph().Nodes {
		calls += len(n.Calls)
		for _, s := range n.Calls {
			if c, ok := m.CallBefore(s.At + 5); !ok || c.Target != s.Target || !c.Certain {
				t.Fatalf("CallBefore(%#x) = %+v, %v; want the call of %#x", s.At+5, c, ok, s.Target)
			}
		}
	}
	if calls < 1000 {
		t.Errorf("%d calls only", calls)
	}
}

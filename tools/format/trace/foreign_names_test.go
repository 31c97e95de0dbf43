package trace

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// TestForeignCpp: a debugger names the calls that are inlined at the innermost pc as the
// source does, and the frame around them is exact; -C shows all of them so.
func TestForeignCpp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlined")
	if out, err := exec.Command("g++", "-O1", "-g", "-no-pie", "-o", path, "testdata/foreign/inlined.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; tools/setup.sh test installs g++", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	middle := sym.Named("_Z6middlePVi")
	if len(middle) != 1 {
		t.Fatalf("middle: %+v", middle)
	}
	// The first instruction of what is inlined: the one before is of another line.
	pc := middle[0].Start
	for len(sym.Lookup(pc, false)) < 3 || len(sym.Lookup(pc, true)) >= 3 {
		if pc++; pc >= middle[0].Start+middle[0].Span {
			t.Fatal("nothing is inlined in middle")
		}
	}
	bt := fmt.Sprintf("#0  ns::Box<double>::get (p=0x0, this=0x7ffc) at inlined.cc:5\n#1  outer (p=0x0) at inlined.cc:12\n"+
		"#2  0x%016x in middle (p=0x0) at inlined.cc:17\n", pc)
	for _, demangled := range []bool{false, true} {
		r := filter(t, Options{Foreign: true, Symbols: sym, Demangle: demangled}, []byte(bt))
		get, mid := "_ZNK2ns3BoxIdE3getEPVi", "_Z6middlePVi"
		if demangled {
			get, mid = "ns::Box<double>::get(int volatile*) const", "middle(int volatile*)"
		}
		want := "gdb: pc=" + get
		if len(r.traces) != 1 || outline(r.traces[0]) != want || !strings.Contains(r.out.String(), "\n    "+get+" (inlined)") ||
			!strings.Contains(r.out.String(), "\n    "+mid+"+0x") || strings.Contains(r.json.String(), "_Z") == demangled {
			t.Errorf("-C %v: %s%s; want %q", demangled, r.out.Bytes(), r.json.Bytes(), want)
		}
	}
	// Also where Linux or another gives the linker's name.
	place := fmt.Sprintf("RIP: 0010:_Z6middlePVi+%#x/%#x\n", pc-middle[0].Start, middle[0].Span)
	r := filter(t, Options{Foreign: true, Symbols: sym, Demangle: true}, []byte(place))
	if r.stats.Foreign != 1 || !strings.Contains(r.out.String(), "    middle(int volatile*)+0x") {
		t.Errorf("%s", r.out.Bytes())
	}
}

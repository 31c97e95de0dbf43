package symbol

import (
	stdelf "debug/elf"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
)

// TestVariable holds each byte of the data of a program against what llvm-symbolizer says of
// it as DATA. That goes on behind the end of a symbol's section; here nothing is there.
func TestVariable(t *testing.T) {
	tool, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"alone": compile(t, "alone", "gcc", append([]string{"-g", "-O2", "variables.c"}, bare...)...),
		"libc":  compile(t, "libc", "gcc", "-g", "-O2", "-no-pie", "-nostartfiles", "variables.c"),
		"m32":   compile(t, "m32", "gcc", append([]string{"-O2", "-m32", "variables.c"}, bare...)...),
	} {
		f := openTest(t, path)
		var in strings.Builder
		var addrs []uint64
		for i := range f.Sections {
			s := &f.Sections[i]
			if s.Addr == 0 || s.Flags&stdelf.SHF_ALLOC == 0 || s.Flags&stdelf.SHF_EXECINSTR != 0 {
				continue
			}
			for a := s.Addr; a < s.Addr+s.Len; a++ {
				addrs = append(addrs, a)
				fmt.Fprintf(&in, "DATA %#x\n", a)
			}
		}
		cmd := exec.Command(tool, "-e", path)
		cmd.Stdin = strings.NewReader(in.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		answers := strings.Split(string(out), "\n\n")
		named := map[string]int{}
		for i, addr := range addrs {
			var symbol string
			var start, size uint64
			if _, err := fmt.Sscanf(answers[i], "%s\n%d %d", &symbol, &start, &size); err != nil {
				t.Fatalf("%s: %v said %q: %v", name, cmd, answers[i], err)
			}
			got, off, ok := f.Variable(addr)
			switch {
			case symbol == "??", size == 0 && !f.SameSection(start, addr):
				if ok {
					t.Errorf("%s: Variable(%#x) = %s+%#x; want none, as %q", name, addr, got, off, answers[i])
				}
			case !ok || got != symbol || off != addr-start:
				t.Errorf("%s: Variable(%#x) = %s+%#x, %v; want %s+%#x", name, addr, got, off, ok, symbol, addr-start)
			default:
				named[got]++
			}
		}
		if named["alias"]+named["table"] != 64 || named["names"] != 7 || named["zero"] == 0 || named["record"] != 16 || named["three"] != 6 {
			t.Errorf("%s: bytes by variable: %v", name, named)
		}
		if got, _, ok := f.Variable(f.TextSpans()[0].Low); ok {
			t.Errorf("%s: the code is the variable %s", name, got)
		}
	}
}

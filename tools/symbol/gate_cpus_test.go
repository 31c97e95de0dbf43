//go:build symbolgate

package symbol

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// otherCPUs are Debian's cross compilers, by the prefix of their commands, and what a
// compiler is told besides.
var otherCPUs = []struct{ prefix, args string }{
	{"powerpc64le-linux-gnu", ""}, {"powerpc64-linux-gnu", "-mabi=elfv1"}, {"i686-linux-gnu", ""},
	{"x86_64-linux-gnux32", ""}, {"arm-linux-gnueabihf", "-marm"}, {"arm-linux-gnueabihf", "-mthumb"},
	{"mips-linux-gnu", ""}, {"sparc64-linux-gnu", ""}, {"aarch64-linux-gnu", ""},
	{"riscv64-linux-gnu", ""}, {"s390x-linux-gnu", ""},
}

// manyFunctions returns a program in C of n functions, each with calls that are inlined into
// it, two deep and in a loop.
func manyFunctions(n int) string {
	var b strings.Builder
	b.WriteString("volatile int v[16];\n")
	for i := range n {
		fmt.Fprintf(&b, `
static inline int leaf%[1]d(int x) {
	x ^= x << %[2]d;
	return x + v[%[3]d];
}
static inline int step%[1]d(int x) {
	for (int i = 0; i < %[4]d; i++) {
		v[i] = leaf%[1]d(x + i);
		if (v[i] & 1)
			x += leaf%[1]d(i);
	}
	return x;
}
__attribute__((noinline)) int outer%[1]d(int x) {
	int y = step%[1]d(x);
	v[%[3]d] = y;
	return leaf%[1]d(y) - x;
}
`, i, 1+i%13, i%16, 2+i%9)
	}
	b.WriteString("void _start(void) {\n\tint x = v[0];\n")
	for i := range n {
		fmt.Fprintf(&b, "\tx += outer%d(x);\n", i)
	}
	b.WriteString("\tv[1] = x;\n\tfor (;;)\n\t\t;\n}\n")
	return b.String()
}

// TestGateCPUs: 2,000 addresses of a program for each of other processors are what the
// binutils of that processor say.
func TestGateCPUs(t *testing.T) {
	install := []string{"install", "-y", "--no-install-recommends"}
	for _, cpu := range otherCPUs {
		if _, err := exec.LookPath(cpu.prefix + "-gcc"); err != nil {
			install = append(install, "gcc-"+strings.ReplaceAll(cpu.prefix, "_", "-"))
		}
	}
	if len(install) > 3 {
		command(t, ".", "apt-get", install...)
	}
	source := filepath.Join(t.TempDir(), "many.c")
	if err := os.WriteFile(source, []byte(manyFunctions(200)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, cpu := range otherCPUs {
		t.Run(cpu.prefix+cpu.args, func(t *testing.T) {
			path := compile(t, "many", cpu.prefix+"-gcc", append(append(strings.Fields(cpu.args), "-g", "-O2", source), bare...)...)
			f := openTest(t, path)
			var all []uint64 // but what lies between functions, which binutils give to the one before
			for fn := range f.Functions() {
				for pc := fn.Start; pc < fn.End; pc += 2 {
					all = append(all, pc)
				}
			}
			if len(all) < 2000 {
				t.Fatalf("the program's functions have %d addresses", len(all))
			}
			var addrs []uint64
			for i := range 2000 {
				addrs = append(addrs, all[i*len(all)/2000])
			}
			want := askBinutils(t, cpu.prefix+"-addr2line", path, addrs)
			c := compare(addrs, f.LookupAll(addrs, false), want, nil)
			c.gate(t, cpu.prefix+cpu.args, 100)
			if c.inlined < 500 {
				t.Errorf("%d of %d addresses have inlined calls; want more", c.inlined, len(addrs))
			}
		})
	}
}

// askBinutils is askLLVM of binutils' addr2line.
func askBinutils(t *testing.T, tool, path string, addrs []uint64) (answers [][]lookup.Call) {
	t.Helper()
	var in strings.Builder
	for _, addr := range addrs {
		fmt.Fprintf(&in, "%#x\n", addr)
	}
	cmd := exec.Command(tool, "-afi", "-e", path)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			answers = append(answers, nil)
			i++
			continue
		}
		if i+1 == len(lines) || len(answers) == 0 {
			t.Fatalf("%v ends with %q", cmd, lines[i])
		}
		place, _, _ := strings.Cut(lines[i+1], " (discriminator")
		at := strings.LastIndexByte(place, ':')
		line, _ := strconv.Atoi(place[at+1:])
		last := &answers[len(answers)-1]
		if n := len(*last); n > 0 {
			(*last)[n-1].Inlined = true
		}
		*last = append(*last, lookup.Call{Function: lines[i], File: place[:at], Line: line})
		i += 2
	}
	if len(answers) != len(addrs) {
		t.Fatalf("%v: %d answers to %d addresses", cmd, len(answers), len(addrs))
	}
	return answers
}

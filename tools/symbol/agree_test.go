package symbol

// An address has one answer: whatever was asked before it and with it. Random programs are held to
// that, in which units share inline functions, of which the linker keeps one copy; and where units
// do, to what llvm-symbolizer says.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// sharedUnits writes the sources of a program of several units, which all have the same
// inline functions at other lines of other files, and returns their names.
func sharedUnits(t *testing.T, random *rand.Rand, dir string) (sources []string) {
	t.Helper()
	units, funcs := 2+random.IntN(4), 1+random.IntN(5)
	for u := range units {
		var b strings.Builder
		fmt.Fprintf(&b, "#line %d \"header%d.h\"\n", 100*(u+1), u)
		b.WriteString("template <int N> static inline int twice(int x) { return x * N; }\n")
		for i := range funcs {
			fmt.Fprintf(&b, "static inline int in%d(int x) {\n\treturn twice<%d>(x) + %d;\n}\n", i, 3+i, i)
			fmt.Fprintf(&b, "inline __attribute__((noinline)) int f%d(int x) {\n\tint y = in%d(x);\n\treturn y ^ in%d(y + x);\n}\n", i, i, i)
		}
		// Some of their own, of which the linker may drop some.
		fmt.Fprintf(&b, "#line 1 \"unit%d.cpp\"\n", u)
		fmt.Fprintf(&b, "int unused%d(int x) { return f0(x) / 3; }\n", u)
		fmt.Fprintf(&b, "__attribute__((cold, noinline)) static int cold%d(int x) { return twice<9>(x) - 1; }\n", u)
		for v := u + 1; v < units; v++ {
			fmt.Fprintf(&b, "int own%d(int);\n", v)
		}
		fmt.Fprintf(&b, "int own%d(int x) {\n\tif (x == 77)\n\t\treturn cold%d(x);\n", u, u)
		for i := range funcs {
			if random.IntN(4) > 0 {
				fmt.Fprintf(&b, "\tx += f%d(x);\n", i)
			}
		}
		if u+1 < units {
			fmt.Fprintf(&b, "\tx += own%d(x);\n", u+1)
		}
		b.WriteString("\treturn x;\n}\n")
		if u == 0 {
			b.WriteString("extern \"C\" void _start() { volatile int x = own0(5); for (;;) x = own0(x); }\n")
		}
		name := filepath.Join(dir, fmt.Sprintf("unit%d.cpp", u))
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, name)
	}
	return sources
}

// buildShared builds such a program in a random way.
func buildShared(t *testing.T, seed uint64) (path string) {
	t.Helper()
	random, dir := rand.New(rand.NewPCG(seed, 0)), t.TempDir()
	flags := []string{"-gdwarf-5", "-O2", "-ffreestanding", "-fno-exceptions", "-fno-asynchronous-unwind-tables"}
	link := []string{"-nostdlib", "-Wl,--build-id"}
	if random.IntN(2) == 0 {
		flags[0] = "-gdwarf-4"
	}
	if random.IntN(2) == 0 {
		flags = append(flags, "-ffunction-sections")
	}
	if random.IntN(2) == 0 {
		link = append(link, "-Wl,--gc-sections")
	}
	if random.IntN(4) == 0 {
		flags[1] = "-O1"
	}
	switch random.IntN(3) {
	case 0:
		flags, link = append(flags, "-fPIE"), append(link, "-pie")
	case 1:
		flags, link = append(flags, "-fPIC"), append(link, "-shared")
	default:
		link = append(link, "-static")
	}
	path = filepath.Join(dir, "shared.elf")
	for _, source := range sharedUnits(t, random, dir) {
		object := strings.TrimSuffix(source, ".cpp") + ".o"
		command(t, dir, "g++", append(flags, "-c", "-o", object, source)...)
		if random.IntN(3) == 0 { // as compilers leave it that write none
			command(t, dir, "objcopy", "-R", ".debug_aranges", "-R", ".rela.debug_aranges", object)
		}
		link = append(link, object)
	}
	command(t, dir, "g++", append(link, "-o", path)...)
	return path
}

// agree asks for addresses of a file in many ways, and holds each answer against that of a
// file which is asked for nothing else.
func agree(t *testing.T, random *rand.Rand, path string, addrs []uint64) {
	t.Helper()
	type question struct {
		addr uint64
		ret  bool
	}
	truth := make(map[question][]lookup.Call)
	check := func(how string, q question, got []lookup.Call) {
		want, ok := truth[q]
		if !ok {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			want = f.Lookup(q.addr, q.ret)
			f.Close()
			truth[q] = want
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %#x (return %t) %s: %+v; alone: %+v", path, q.addr, q.ret, how, got, want)
		}
	}
	for round := range 12 {
		some := make([]uint64, min(len(addrs), []int{2, 3, 9, 40, len(addrs), 700}[round%6]))
		for i, at := range random.Perm(len(addrs))[:len(some)] {
			some[i] = addrs[at]
		}
		ret := round%2 == 1
		f := openTest(t, path)
		if round >= 6 { // the same file is asked one by one, too
			for _, addr := range some {
				check("one by one", question{addr, ret}, f.Lookup(addr, ret))
			}
		}
		for range 2 { // the second time some answers are those of before
			for i, got := range f.LookupAll(some, ret) {
				check(fmt.Sprintf("among %d", len(some)), question{some[i], ret}, got)
			}
		}
	}
}

// sample returns up to about n of the addresses of a file's code.
func sample(random *rand.Rand, f *File, n int) []uint64 {
	addrs := textAddrs(f, 1)
	for i := range addrs {
		j := i + random.IntN(len(addrs)-i)
		addrs[i], addrs[j] = addrs[j], addrs[i]
	}
	return append(addrs[:min(n, len(addrs))], 0, 1, ^uint64(0))
}

// TestAnswersAgree: random programs with shared inline functions, asked in many ways; and
// some of them as llvm-symbolizer answers.
func TestAnswersAgree(t *testing.T) {
	for seed := range uint64(agreeSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			path := buildShared(t, seed)
			random := rand.New(rand.NewPCG(seed, 1))
			agree(t, random, path, sample(random, openTest(t, path), 500))
			f := openTest(t, path)
			addrs := sectionAddrs(f, ".text", 1)
			compare(addrs, f.LookupAll(addrs, false), askLLVM(t, path, addrs), nil).gate(t, "shared", 100)
		})
	}
}

// TestAnswersAgreeOthers: the same of programs of other kinds: C, nested functions of C,
// templates with exceptions, labels around each other, names for one address that the two
// symbol tables have in another order, Go.
func TestAnswersAgreeOthers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nested := write("nested.c", `int call(int (*f)(int)) { return f(3); }
int outer(int x) {
	int inner(int y) { int deepest(int z) { return x * z; } return call(deepest) + y; }
	return call(inner);
}
void _start(void) { for (;;) outer(4); }
`)
	names := write("names.s", "	.text\n"+strings.Repeat("	.globl f\n	.type f,@function\n	.globl a\n	.type a,@function\n	.globl b\n	.type b,@function\n", 1)+
		"f:	nop\n"+strings.Repeat("	nop\n1:	nop\n", 4)+
		func() (labels string) {
			for i := range 30 { // more than anyone looks back
				labels += fmt.Sprintf("	.type small%d,@function\nsmall%d:	nop\n	.size small%d,1\n", i, i, i)
			}
			return labels
		}()+
		"b:\na:	nop\n	nop\n	.size a,2\n	.size b,2\n	nop\n	.size f,.-f\n")
	for name, path := range map[string]string{
		"C": buildC(t, "-g", "-O2"), "nested": compile(t, "nested", "gcc", append(bare, "-g", "-O1", "-fno-inline", nested)...),
		"C++": buildCpp(t, "-O2"), "labels": buildLabels(t), "names": compile(t, "names.so", "gcc", "-shared", "-nostdlib", names),
		"stripped": changed(t, buildC(t, "-g0"), "--strip-all"), "Go": buildGo(t, "testdata/gosample", ""),
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 1))
			agree(t, random, path, sample(random, openTest(t, path), 300))
		})
	}
}

// buildCpp builds a C++ program of templates, lambdas and exceptions.
func buildCpp(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "cpp.elf")
	args := append([]string{"-g", "-o", out, "testdata/indexed.cc"}, flags...)
	if msg, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s(the tests need g++)", err, msg)
	}
	return out
}

// changed returns what objcopy makes of a file.
func changed(t testing.TB, path string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "changed.elf")
	if msg, err := exec.Command("objcopy", append(args, path, out)...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, msg)
	}
	return out
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// styleSource has inlined calls, scopes, overloads and variables of all kinds.
const styleSource = `
template <typename T> struct Box { T held; Box(T t) : held(t) {} T get() const { return held + 1; } };
namespace ns {
int counter = 5;
static int hidden[10];
template <typename T> inline __attribute__((always_inline)) T twice(T x) {
	volatile T y = x; return y + x; }
struct S {
	int member(int n) const;
	static long fixed(long n) { return twice(n) * 3; }
};
int S::member(int n) const { int local[4] = {n, 2, 3, 4}; char c = n; return local[n & 3] + twice(n) + c; }
}
struct Base { virtual ~Base() {} virtual int f(int n) { return n; } };
struct Derived : Base { int f(int n) override { return ns::twice(n) + 1; } };
int main(int argc, char **argv) {
	Box<Box<int>*> *none = nullptr; (void)none;
	Box<int> v(argc);
	ns::S s;
	Derived d; Base *b = &d;
	return v.get() + s.member(argc) + ns::S::fixed(argc) + ns::counter + ns::hidden[argc] + b->f(argc);
}
`

// buildStyle compiles the source.
func buildStyle(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	src, out := filepath.Join(dir, "style.cc"), filepath.Join(dir, "style")
	if err := os.WriteFile(src, []byte(styleSource), 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(compiler, append(flags, "-o", out, src)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s(the tests need g++)", compiler, err, msg)
	}
	return out
}

// linesDiffer compares line by line, and tells the first few that differ.
func linesDiffer(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	bad := 0
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) {
			t.Errorf("%s: %d lines; want %d", what, len(g), len(w))
			return
		}
		if g[i] != w[i] {
			if bad++; bad <= 4 {
				t.Errorf("%s: line %d = %q; want %q", what, i+1, g[i], w[i])
			}
		}
	}
}

// functionAddresses returns each address of the functions of a C++ program that are its own.
func functionAddresses(t *testing.T, path string) (addrs []string) {
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for fn := range f.Functions() {
		if strings.HasPrefix(fn.Name, "_Z") || fn.Name == "main" {
			for a := fn.Start; a < fn.End; a++ {
				addrs = append(addrs, fmt.Sprintf("%#x", a))
			}
		}
	}
	if len(addrs) < 100 {
		t.Fatalf("%d addresses", len(addrs))
	}
	return addrs
}

// TestSymbolizerEqualsLLVM holds zf symbolizer against llvm-symbolizer: the same arguments, the
// same input, the same output.
func TestSymbolizerEqualsLLVM(t *testing.T) {
	llvm, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, flags := range [][]string{{"-O1", "-g"}, {"-O2", "-gdwarf-4"}, {"-O2"}} {
		path := buildStyle(t, "g++", flags...)
		addrs := functionAddresses(t, path)
		plain := strings.Join(addrs, "\n") + "\n0x10\n"
		var moved strings.Builder
		for _, a := range addrs {
			n, err := strconv.ParseUint(a, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&moved, "%#x\n", n+0x7000)
		}
		for _, opts := range [][]string{
			{}, {"--output-style=JSON"}, {"-p", "-a"}, {"--no-inlines", "-s"}, {"--functions=none", "-a"}, {"--functions=short", "--verbose"},
			{"--no-demangle", "--output-style", "LLVM", "--adjust-vma=0x7000", "--relativenames"}, {"-f=linkage", "--pretty-print"},
		} {
			if flags[0] != "-O2" && (slices.Contains(opts, "--verbose") || slices.Contains(opts, "--output-style=JSON")) {
				// llvm-symbolizer loses the file of a declaration where DWARF 5 has it with the shape of
				// the entry (DW_FORM_implicit_const).
				continue
			}
			if len(flags) == 1 && len(opts) > 0 && opts[0] == "--functions=short" {
				continue // llvm-symbolizer takes no such name from a symbol table, as we do
			}
			input := plain
			if slices.Contains(opts, "--adjust-vma=0x7000") {
				input = moved.String()
			}
			args := append([]string{"-e", path}, opts...)
			cmd := exec.Command(llvm, args...)
			cmd.Stdin = strings.NewReader(input)
			want, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s %q: %v", llvm, args, err)
			}
			code, got, stderr := zf(strings.NewReader(input), append([]string{"symbolizer"}, args...)...)
			if code != exitOK || stderr != "" {
				t.Errorf("zf symbolizer %q = %d, %s", args, code, stderr)
			}
			linesDiffer(t, fmt.Sprintf("%v %v", flags, opts), got, string(want))
			compared += strings.Count(string(want), "\n")
		}
		args := append([]string{"--obj=" + path, "--output-style=JSON"}, addrs[:20]...)
		if flags[0] != "-O2" {
			continue
		}
		for _, more := range [][]string{nil, {"-p"}} {
			want, err := exec.Command(llvm, append(more, args...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			code, got, _ := zf(nil, append(append([]string{"symbolizer"}, more...), args...)...)
			if code != exitOK {
				t.Errorf("%q: %d", args, code)
			}
			linesDiffer(t, fmt.Sprintf("%v, arguments %v", flags, more), got, string(want))
		}
	}
	t.Logf("%d lines compared", compared)
}

// TestSymbolizerProtocol holds the answers to requests of all kinds against llvm-symbolizer's, of
// several files and of what cannot be answered.
func TestSymbolizerProtocol(t *testing.T) {
	llvm, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-O0", "-g"}, {"-O0", "-gdwarf-4", "-no-pie"}} {
		path := buildStyle(t, "g++", flags...)
		f, err := symbol.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		counter, _, ok := f.Symbol("_ZN2ns7counterE")
		member, _, ok2 := f.Symbol("_ZNK2ns1S6memberEi")
		f.Close()
		if !ok || !ok2 {
			t.Fatal("no ns::counter or ns::S::member")
		}
		spaced := filepath.Join(t.TempDir(), "with space")
		if err := os.Symlink(path, spaced); err != nil {
			t.Fatal(err)
		}
		requests := []string{
			fmt.Sprintf("CODE %s %#x", path, member), fmt.Sprintf("%s %d", path, member), fmt.Sprintf("CODE \"%s\" %#x", spaced, member),
			fmt.Sprintf("DATA %s %#x", path, counter), fmt.Sprintf("FRAME %s %#x", path, member+8),
			fmt.Sprintf("FILE:%s %#x", path, member), path + " main", path + " main+4", path + " nothing",
			"CODE /nothing/there 0x10", "DATA /nothing/there 0x10", "FRAME /nothing/there 0x10", "DATA " + path + " 0x1", "FRAME " + path + " 0x1",
		}
		for _, opts := range [][]string{nil, {"--output-style=JSON"}, {"-a"}} {
			input := strings.Join(requests, "\n") + "\n"
			cmd := exec.Command(llvm, opts...)
			cmd.Stdin = strings.NewReader(input)
			want, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			code, got, _ := zf(strings.NewReader(input), append([]string{"symbolizer"}, opts...)...)
			if code != exitOK {
				t.Errorf("%q: %d", opts, code)
			}
			linesDiffer(t, fmt.Sprint(flags, opts), got, string(want))
		}
	}
	// What goes wrong is said once, and the count of the answers stays right.
	code, got, stderr := zf(strings.NewReader("CODE /nothing/there 0x10\nCODE /nothing/there 0x20\nonly\n"), "symbolizer")
	if code != exitOK || got != strings.Repeat("??\n??:0:0\n\n", 3) || strings.Count(stderr, "/nothing/there") != 1 || !strings.Contains(stderr, "no module offset") {
		t.Errorf("%d, %q, %q", code, got, stderr)
	}
}

func TestCalledAs(t *testing.T) {
	for name, want := range map[string]string{
		"/usr/bin/zf": "x y", "zf-symbolizer": "symbolizer x y", "/a/llvm-symbolizer": "symbolizer x y", "llvm-symbolizer-zf": "symbolizer x y",
		"addr2line": "addr x y", "/opt/x86_64-linux-gnu-addr2line": "addr x y", "my-zf": "x y",
	} {
		if got := strings.Join(calledAs(name, []string{"x", "y"}), " "); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

// asProgram returns a link to this test's program, which then is zf under another name.
func asProgram(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv(asCommand, "1")
	return link
}

const asanSource = `
#include <stdlib.h>
static int *volatile table;
__attribute__((noinline)) static int reads(int n) { return table[n]; }
__attribute__((noinline)) static int calls(int n) { return reads(n) + 1; }
int main(int argc, char **argv) {
	table = (int *)malloc(4 * sizeof *table);
	return calls(argc + 3);
}
`

// TestASan: AddressSanitizer's reports have functions, lines and columns by zf, as they have by
// llvm-symbolizer.
func TestASan(t *testing.T) {
	clang := ""
	for _, name := range []string{"clang", "clang-22", "clang-19", "clang-17", "clang-16", "clang-15", "clang-14"} {
		if path, err := exec.LookPath(name); err == nil {
			clang = path
			break
		}
	}
	if clang == "" {
		t.Fatal("clang is not installed, whose AddressSanitizer asks a symbolizer (gcc's does not): make test installs it")
	}
	llvm, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "asan.c"), filepath.Join(dir, "asan")
	if err := os.WriteFile(src, []byte(asanSource), 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(clang, "-fsanitize=address", "-g", "-O1", "-fno-omit-frame-pointer", "-o", prog, src).CombinedOutput(); err != nil {
		t.Fatalf("clang has no AddressSanitizer; install libclang-rt-VERSION-dev: %v\n%s", err, msg)
	}
	frames := func(by string) (all []string) {
		cmd := exec.Command(prog)
		cmd.Env = append(os.Environ(), "ASAN_SYMBOLIZER_PATH="+by, "ASAN_OPTIONS=symbolize=1")
		out, _ := cmd.CombinedOutput() // it ends in a failure
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasPrefix(f[0], "#") {
				all = append(all, f[0]+" "+strings.Join(f[3:], " "))
			}
		}
		if len(all) < 4 {
			t.Fatalf("%s: no report:\n%s", by, out)
		}
		return all
	}
	// A name of llvm-symbolizer's, for the program looks at it.
	link := filepath.Join(dir, "llvm-symbolizer")
	if err := os.Symlink(llvm, link); err != nil {
		t.Fatal(err)
	}
	want, got := frames(link), frames(asProgram(t, "llvm-symbolizer-zf"))
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.HasPrefix(got[0], "#0 in reads "+src+":4:") && !strings.Contains(got[0], "reads "+src+":4:") {
		t.Errorf("first frame: %s", got[0])
	}
	t.Logf("%s", got[0])
	// It is addr2line for them, too.
	if got := frames(asProgram(t, "addr2line")); !strings.Contains(got[0], "reads "+src+":4") {
		t.Errorf("as addr2line: %s", got[0])
	}
}

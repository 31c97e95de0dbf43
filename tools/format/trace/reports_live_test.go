package trace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// compile makes a program of a C file, and opens it.
func compile(t *testing.T, source, name string, args ...string) (string, *symbol.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append([]string{"-g", "-O1", "-Wl,--build-id", "-fno-omit-frame-pointer", "-o", path, source}, args...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; tools/setup.sh test installs gcc", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sym.Close() })
	return path, sym
}

// runAt runs a program and returns what it printed; it may end badly.
func runAt(t *testing.T, path string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return out
}

// peers returns what llvm-symbolizer says of addresses: functions and lines, innermost first.
func peers(t *testing.T, path string, addrs []string) (all []string) {
	t.Helper()
	if len(addrs) == 0 {
		return nil
	}
	tool, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "--obj="+path, "--no-demangle", "--functions=linkage")
	cmd.Stdin = strings.NewReader(strings.Join(addrs, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for answer := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
		l := strings.Split(answer, "\n")
		var calls []string
		for i := 0; i+1 < len(l); i += 2 {
			where := filepath.Base(l[i+1])
			if n := strings.LastIndexByte(where, ':'); n > 0 {
				where = where[:n] // without the column
			}
			calls = append(calls, l[i]+" "+where)
		}
		all = append(all, strings.Join(calls, "|"))
	}
	if len(all) != len(addrs) {
		t.Fatalf("%d answers of %s for %d addresses", len(all), tool, len(addrs))
	}
	return all
}

var ourLine = regexp.MustCompile(`^    (\S+?)(?:\+0x[0-9a-f]+| \(inlined\))(?: (?:.*/)?(\S+:[0-9]+))?(?: \(above\))?$`)

// compareFrames compares what follows each line that the pattern matches, whose group is the
// address for the peer (as change makes it), with what the peer says of it. It returns how many
// lines there were.
func compareFrames(t *testing.T, path string, out []byte, frame *regexp.Regexp, change func(s string, n int) string) (n int) {
	t.Helper()
	lines := strings.Split(string(out), "\n")
	var addrs, ours, below []string
	for i, l := range lines {
		m := frame.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		addrs = append(addrs, change(m[1], len(addrs)))
		var got []string
		for _, o := range lines[i+1:] {
			m := ourLine.FindStringSubmatch(o)
			if m == nil {
				break
			}
			if m[2] == "" {
				m[2] = "??:0"
			}
			got = append(got, m[1]+" "+m[2])
		}
		ours, below = append(ours, strings.Join(got, "|")), append(below, l)
	}
	for i, want := range peers(t, path, addrs) {
		if ours[i] != want {
			t.Errorf("below %q: %q; llvm-symbolizer says %q", below[i], ours[i], want)
		}
	}
	return len(addrs)
}

// here is the folder that paths are shown from, so that their lines are short.
func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// exact leaves an address as it is.
func exact(s string, _ int) string { return s }

// beforeIt is the byte before a return address.
func beforeIt(s string, _ int) string {
	var a uint64
	fmt.Sscanf(s, "0x%x", &a)
	return fmt.Sprintf("%#x", a-1)
}

// TestReportsLive: the frames that programs moved at random print without symbols are those of
// llvm-symbolizer: AddressSanitizer's, ThreadSanitizer's and UBSan's, and glibc's.
func TestReportsLive(t *testing.T) {
	const source = "testdata/foreign/faults.c"
	plain := []string{"symbolize=0:detect_leaks=0:print_stacktrace=1"}
	sanitizer := func(name string) *regexp.Regexp {
		return regexp.MustCompile(`^ +#[0-9]+ .*\(\S*` + name + `\+(0x[0-9a-f]+)\)`)
	}
	for _, tt := range []struct {
		name, arg string
		flags     []string
		frame     func(name string) *regexp.Regexp
		change    func(s string, n int) string
		most      int // frames of the program that there are at least
	}{
		{"overflow", "overflow", []string{"-fsanitize=address", "-pie", "-fPIE"}, sanitizer, exact, 5},
		{"fixed", "overflow", []string{"-fsanitize=address", "-no-pie"}, sanitizer, exact, 5},
		{"signal", "null", []string{"-fsanitize=address", "-pie", "-fPIE"}, sanitizer, exact, 4},
		{"undefined", "add", []string{"-fsanitize=undefined", "-pie", "-fPIE"}, sanitizer, exact, 3},
		{"race", "race", []string{"-fsanitize=thread", "-pie", "-fPIE"}, sanitizer, exact, 4},
		{"backtrace", "backtrace", []string{"-pie", "-fPIE"}, func(name string) *regexp.Regexp {
			return regexp.MustCompile(name + `\(\+(0x[0-9a-f]+)\)`)
		}, beforeIt, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, sym := compile(t, source, tt.name+".elf", append(tt.flags, "-lpthread")...)
			run, args := path, []string{tt.arg}
			if tt.name == "race" { // its shadow memory does not fit every layout
				run, args = "setarch", []string{"-R", path, tt.arg}
			}
			var env []string
			for _, san := range []string{"ASAN", "UBSAN", "TSAN"} {
				env = append(env, san+"_OPTIONS="+plain[0])
			}
			text := runAt(t, run, env, args...)
			r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, text)
			if n := compareFrames(t, path, r.out.Bytes(), tt.frame(tt.name+`\.elf`), tt.change); n < tt.most {
				t.Errorf("%d frames; want %d at least in\n%s", n, tt.most, text)
			}
			if r.log.Len() > 0 {
				t.Errorf("log: %s", r.log.Bytes())
			}
		})
	}
}

// TestReportsMaps: a program that is moved tells where by its /proc/self/maps, in front of its
// addresses and behind them.
func TestReportsMaps(t *testing.T) {
	path, sym := compile(t, "testdata/foreign/faults.c", "maps.elf", "-pie", "-fPIE")
	before, behind := runAt(t, path, nil, "maps", "addresses"), runAt(t, path, nil, "addresses", "maps")
	want := regexp.MustCompile(`(?m)^pc=0x[0-9a-f]+\n    deep\+0x[0-9a-f]+ .*faults\.c:[0-9]+\nlr=0x[0-9a-f]+\n    between \(inlined\) .*faults\.c:[0-9]+\n    caller\+0x`)
	if r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, before); !want.Match(r.out.Bytes()) {
		t.Errorf("%s", r.out.Bytes())
	}
	want = regexp.MustCompile(`(?m)maps\.elf\n    [0-9a-f]{16}:\n    deep\+0x[0-9a-f]+ .*faults\.c:[0-9]+ \(above\)\n    [0-9a-f]{16}:\n    between \(inlined\) .*\n    caller\+0x.* \(above\)\n`)
	if r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, behind); !want.Match(r.out.Bytes()) {
		t.Errorf("%s", r.out.Bytes())
	}
}

// TestReportsBias: gdb's frames of a program that was moved are resolved from the first on that
// has a name, and those before it below that.
func TestReportsBias(t *testing.T) {
	path, sym := compile(t, "testdata/foreign/faults.c", "moved.elf", "-pie", "-fPIE")
	// Its frames, of which gdb would know only that of caller.
	addrs := regexp.MustCompile(`(?m)^(?:pc|lr)=0x([0-9a-f]+)$`).FindAllSubmatch(runAt(t, path, nil, "addresses"), -1)
	if len(addrs) != 2 {
		t.Fatalf("%d addresses; want 2", len(addrs))
	}
	in := fmt.Sprintf("#0  0x%016s in ?? ()\n#1  0x%016s in caller ()\n#2  0x%016s in ?? ()\n", addrs[0][1], addrs[1][1], addrs[1][1])
	r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, []byte(in))
	want := regexp.MustCompile(`^#0 .*\n#1 .*\n    [0-9a-f]{16}:\n    deep\+0x.* \(above\)\n    between \(inlined\) .*\n    caller\+0x.*\n#2 .*\n    between \(inlined\) .*\n    caller\+0x.*\n$`)
	if !want.Match(r.out.Bytes()) {
		t.Errorf("%s", r.out.Bytes())
	}
	// A name that cannot be at such a place in a page teaches nothing.
	wrong := strings.Replace(in, "caller", "main", 1)
	if r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, []byte(wrong)); r.out.String() != wrong {
		t.Errorf("%s; want the input", r.out.Bytes())
	}
}

// TestReportsSeveral: of several files each module's frames are in its own: by its build ID
// under any name, or else by its name.
func TestReportsSeveral(t *testing.T) {
	_, one := compile(t, "testdata/foreign/faults.c", "one.elf", "-pie", "-fPIE")
	_, two := compile(t, "testdata/foreign/overflow.c", "two.elf", "-pie", "-fPIE")
	deep, last := one.Named("deep")[0].Start+4, two.Named("last")[0].Start+4
	in := fmt.Sprintf("    #0 0x7f0000000000  (/x/two.elf+%#x)\n    #1 0x7f0000000001  (/x/one.elf+%#x)\n    #2 0x7f0000000001  (/x/renamed+%#x) (BuildId: %s)\n    #3 0x7f0000000001  (/x/three.elf+%#[2]x)\n", last, deep, last, two.BuildID())
	for _, images := range []func() *lookup.Images{
		func() *lookup.Images { return &lookup.Images{Given: []lookup.Resolver{one, two}} },
		func() *lookup.Images {
			return &lookup.Images{
				Find: func(build, module string) lookup.Resolver {
					if build == two.BuildID() {
						return two
					}
					return nil
				},
				File: func(path string) lookup.Resolver {
					switch path {
					case "/x/one.elf":
						return one
					case "/x/two.elf":
						return two
					}
					return nil
				},
			}
		},
	} {
		r := filter(t, Options{Images: images, Foreign: true}, []byte(in))
		if got := outline(r.traces[0]); len(r.traces) != 1 || got != "sanitizer: pc=last pc=deep pc=last pc='?'" || r.log.Len() > 0 {
			t.Errorf("%s %s", got, r.log.Bytes())
		}
	}
}

// TestReportsCgo: a traceback that goes through C and back is whole, and C's frames, for which Go
// has no name, have theirs.
func TestReportsCgo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cgo.elf")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./testdata/foreign/cgo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	text := runAt(t, path, []string{"GOTRACEBACK=crash"})
	r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, text)
	for _, want := range []string{
		`(?m)^PC=0x[0-9a-f]+ .*\n    fault\+0x[0-9a-f]+\s+.*main\.go:17$`,                                                          // exact
		`(?m)^non-Go function at pc=0x[0-9a-f]+\n    fault\+0x[0-9a-f]+\s+.*main\.go:17$`,                                          // the innermost of C
		`(?m)^non-Go function at pc=0x[0-9a-f]+\n    around \(inlined\)\s+.*main\.go:22\n    enter\+0x[0-9a-f]+\s+.*main\.go:27$`,  // a return address
		`(?m)^main\.main\(\)\n\t.*cgo/main\.go:[0-9]+ \+0x[0-9a-f]+ fp=0x[0-9a-f]+ sp=.* pc=.*\n    main\.main\+0x[0-9a-f]+ at 0x`, // of Go
	} {
		if !regexp.MustCompile(want).Match(r.out.Bytes()) {
			t.Errorf("no %s in\n%s", want, r.out.Bytes())
		}
	}
	if bytes.Contains(r.out.Bytes(), []byte("the trace says")) {
		t.Errorf("a line differs:\n%s", r.out.Bytes())
	}
}

// TestReportsCpp: functions of C++ that a report names as the source does are found, by an
// offset in them and for where the program was moved to.
func TestReportsCpp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlined")
	if out, err := exec.Command("g++", "-O1", "-g", "-pie", "-fPIE", "-o", path, "testdata/foreign/inlined.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; tools/setup.sh test installs g++", err, out)
	}
	sym, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sym.Close()
	middle := sym.Named("_Z6middlePVi")[0].Start
	for in, want := range map[string]string{
		"\t    115f middle(int volatile*)+0x4 (/x/inlined)\n":                   "perf: pc=_Z6middlePVi",
		"    middle(int volatile*)+4\n    nosuch+1\n":                           "",
		fmt.Sprintf("#0  0x%016x in middle (p=0x0)\n", middle+4+0x560000000000): "gdb: pc=_Z6middlePVi",
		fmt.Sprintf("   0:     0x%x - middle\n", middle+4+0x560000000000):       "rust: ra=_Z",
	} {
		r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, []byte(in))
		got := ""
		if len(r.traces) > 0 {
			got = outline(r.traces[0])
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %q; want %q", in, got, want)
		}
	}
}

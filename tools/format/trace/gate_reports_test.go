//go:build symbolgate

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

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// tool returns the first of some programs that is installed.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("none of %v is installed; on Debian: apt-get install clang-19 libclang-rt-19-dev rustc linux-perf bpftrace default-jdk-headless", names)
	return ""
}

// TestGateReports: what tools that `make test` does not install print of programs that are
// moved at random is resolved as llvm-symbolizer does it.
func TestGateReports(t *testing.T) {
	const source = "testdata/foreign/"
	dir := t.TempDir()
	build := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	frame := func(expr string) *regexp.Regexp { return regexp.MustCompile(expr) }
	for _, tt := range []struct {
		name   string
		make   func(path string)
		run    func(path string) []byte
		frame  *regexp.Regexp
		change func(s string, n int) string
		least  int
	}{
		{"clang-asan", func(path string) {
			build(tool(t, "clang-19", "clang"), "-g", "-O1", "-fsanitize=address", "-Wl,--build-id", "-o", path, source+"faults.c")
		}, func(path string) []byte {
			return runAt(t, path, []string{"ASAN_OPTIONS=symbolize=0:detect_leaks=0"}, "overflow")
		}, frame(`^ +#[0-9]+ .*\(\S*clang-asan\+(0x[0-9a-f]+)\) \(BuildId`), exact, 5},
		{"rust", func(path string) {
			build(tool(t, "rustc"), "-g", "-C", "opt-level=1", "-o", path, source+"gate/panics.rs")
			build("objcopy", "--only-keep-debug", path, path+".debug")
			build("strip", path)
		}, func(path string) []byte {
			// The layout is fixed, so that the runtime's own names can be those of another run.
			return runAt(t, "setarch", []string{"RUST_BACKTRACE=full"}, "-R", path)
		}, nil, nil, 0},
		{"perf", func(path string) {
			build("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, source+"gate/spin.c")
		}, func(path string) []byte {
			build(tool(t, "perf"), "record", "-q", "-F", "50", "-g", "-e", "cpu-clock:u", "-o", in("perf.data"), path)
			out, err := exec.Command("perf", "script", "-i", in("perf.data")).Output()
			if err != nil {
				t.Fatal(err)
			}
			return out
		}, frame(`^\s+([0-9a-f]+) \S+ \(\S*/perf\)$`), func(s string, n int) string { return "0x" + s }, 3},
		{"hotspot", func(path string) {
			build("gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-o", path, source+"gate/boom.c")
			build(tool(t, "javac"), "-d", dir, source+"gate/Crash.java")
		}, func(path string) []byte {
			cmd := exec.Command(tool(t, "java"), "-XX:ErrorFile="+in("hs_err.log"), "-XX:-CreateCoredumpOnCrash", "-cp", dir, "Crash", path)
			if err := cmd.Run(); err == nil {
				t.Fatal("java ended well")
			}
			out, err := os.ReadFile(in("hs_err.log"))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}, frame(`^C  \[hotspot\+(0x[0-9a-f]+)\]`), nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := in(tt.name)
			tt.make(path)
			text := tt.run(path)
			file := path
			if _, err := os.Stat(path + ".debug"); err == nil {
				file = path + ".debug"
			}
			sym, err := symbol.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer sym.Close()
			if tt.name == "rust" {
				rustFrames(t, path, sym, text)
				return
			}
			change := tt.change
			if change == nil { // the first is exact, and the others return
				change = func(s string, n int) string {
					if n == 0 {
						return s
					}
					return beforeIt(s, n)
				}
			}
			if tt.name == "perf" {
				change = perfAddress(text, tt.frame)
			}
			r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, text)
			n := compareFrames(t, file, r.out.Bytes(), tt.frame, change)
			if n < tt.least {
				t.Errorf("%d frames; want %d at least in\n%s", n, tt.least, text)
			}
			t.Logf("%-12s %4d frames as llvm-symbolizer has them", tt.name, n)
		})
	}
}

// perfAddress returns a function that makes the n-th frame's offset an address: the first of a
// sample is exact.
func perfAddress(text []byte, frame *regexp.Regexp) func(s string, n int) string {
	var first []bool
	before := false
	for l := range strings.Lines(string(text)) {
		if is := strings.HasPrefix(l, "\t"); is {
			if frame.MatchString(strings.TrimRight(l, "\n")) {
				first = append(first, !before)
			}
			before = true
		} else {
			before = false
		}
	}
	return func(s string, n int) string {
		if first[n] {
			return "0x" + s
		}
		return beforeIt("0x"+s, n)
	}
}

// rustFrames checks the frames of a stripped Rust program: none has a name. One of them is
// given the name that the debug file has for it, and all are resolved then.
func rustFrames(t *testing.T, path string, sym *symbol.File, text []byte) {
	t.Helper()
	// Where a program lies that is not moved at random.
	const moved = 0x555555554000
	out := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, text).out.Bytes()
	if !bytes.Equal(out, text) {
		t.Errorf("nothing says where it ran, and\n%s", out)
	}
	frames := regexp.MustCompile(`(?m)^ +[0-9]+: +(0x[0-9a-f]+) - <unknown>$`).FindAllSubmatch(text, -1)
	named := string(text)
	for _, m := range frames {
		var addr uint64
		fmt.Sscanf(string(m[1]), "0x%x", &addr)
		calls := sym.Lookup(addr-moved, true)
		if len(calls) > 0 && strings.Contains(calls[len(calls)-1].Function, "inner") {
			named = strings.Replace(named, string(m[1])+" - <unknown>", string(m[1])+" - panics::inner", 1)
		}
	}
	r := filter(t, Options{Symbols: sym, Foreign: true, Demangle: true, Dir: here(t)}, []byte(named))
	for _, want := range []string{"panics::inner", "panics::outer", "panics::main"} {
		if !strings.Contains(r.out.String(), "\n    "+want) {
			t.Errorf("no %s in\n%s", want, r.out.Bytes())
		}
	}
	t.Logf("%-12s %4d frames, and %d of them with a function", "rust", len(frames), r.stats.Foreign)
}

// TestGateReportsBPF: bpftrace's stacks of a program have the lines that llvm-symbolizer has.
func TestGateReportsBPF(t *testing.T) {
	path, sym := compile(t, "testdata/foreign/gate/spin.c", "bpf.elf", "-no-pie")
	bpf := exec.Command(tool(t, "bpftrace"), "-e", `profile:hz:99 /comm == "bpf.elf"/ { @[ustack] = count(); }`, "-c", path)
	out, err := bpf.Output()
	if err != nil {
		t.Fatalf("%v: it must run as root, on a kernel with BPF: %s", err, out)
	}
	r := filter(t, Options{Symbols: sym, Foreign: true, Dir: here(t)}, out)
	// The program is gone when its stacks are printed, so that they are addresses or names; and
	// what has no frame of its own leaves its caller out.
	if !regexp.MustCompile(`(?m)^    (?:0x[0-9a-f]+|work\+[0-9]+)\n    work\+0x[0-9a-f]+ .*spin\.c:[67]\n    (?:0x[0-9a-f]+|main\+[0-9]+)\n    main\+0x[0-9a-f]+ .*spin\.c:19\n`).Match(r.out.Bytes()) {
		t.Errorf("%s", r.out.Bytes())
	}
	t.Logf("%-12s %4d frames", "bpftrace", r.stats.Foreign)
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/probe"
)

// countsCalls calls f 55 times, of which 5 end in a panic, and dies if it has an argument.
const countsCalls = `package main

import "os"

//go:noinline
func f(n int) int {
	if n < 0 {
		panic("negative")
	}
	return small(n) + 1
}

func small(n int) int { return n * len(os.Args) }

//go:noinline
func try(n int) {
	defer func() { recover() }()
	f(n)
}

func main() {
	for i := range 50 {
		f(i)
	}
	for range 5 {
		try(-1)
	}
	if len(os.Args) > 1 {
		panic("asked for")
	}
}
`

func TestRunProbe(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("main.go"), []byte(countsCalls), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := zf(nil, "build", "-o", file("f.elf"), file("main.go")); code != 0 {
		t.Fatalf("zf build = %d: %s", code, stderr)
	}
	before, err := os.ReadFile(file("f.elf"))
	if err != nil {
		t.Fatal(err)
	}

	code, _, stderr := zf(nil, "run", "-timeout", "10m", "-probe", "main.f,main.try", "-probe", "main.small*", "-probe-stacks", "-probe-json", file("counts"), file("f.elf"))
	for _, want := range []string{
		`(?m)^       55 +\S+ +\S+ +\S+ +\S+ +\S+  main\.f$`, `\n +\(5 ended by a panic or Goexit\)\n`, `(?m)^        5 .*  main\.try$`,
		`(?m)^       50 +\S+  from main\.main < runtime\.main < runtime\.goexit$`, `(?m)^        5 +-  from main\.try < main\.main < runtime\.main`,
		`inlined, so not counted there .*\n   main\.small in 1\n`, `(?m)^\d+ breakpoints took \S+, \S+ each$`,
	} {
		if !regexp.MustCompile(want).MatchString(stderr) {
			t.Errorf("zf run -probe does not say %s:\n%s", want, stderr)
		}
	}
	if code != 0 {
		t.Errorf("zf run -probe = %d", code)
	}
	for _, l := range strings.Split(stderr, "\n") {
		if len(l) > 80 && !strings.HasPrefix(l, "zf run: booting") {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	b, err := os.ReadFile(file("counts"))
	if err != nil {
		t.Fatal(err)
	}
	var rep probe.Report
	if err := json.Unmarshal(b, &rep); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	found := false
	for _, c := range rep.Functions {
		if c.Function == "main.f" {
			found = c.Calls == 55 && c.Returns == 50 && c.Unwound == 5 && len(c.Histogram) > 0 && len(c.Callers) == 2
		}
	}
	if rep.Version != 1 || rep.Kind != "probes" || !found {
		t.Errorf("-probe-json has %s", b)
	}
	if after, err := os.ReadFile(file("f.elf")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("zf run -probe has changed the image (%v)", err)
	}

	code, _, stderr = zf(nil, "run", "-timeout", "10m", "-q", "-probe", "main.f", file("f.elf"), "--", "die")
	if code != exitTrace || !regexp.MustCompile(`(?m)^       55 .*  main\.f$`).MatchString(stderr) {
		t.Errorf("a program that dies: zf run -probe = %d:\n%s", code, stderr)
	}

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-probe", "main.g", file("f.elf")}, `zf run: -probe: no function matches "main.g"`},
		{[]string{"-probe", "main.small", file("f.elf")}, "zf run: -probe: main.small is inlined in 1 places"},
		{[]string{"-probe", "runtime.mcall", file("f.elf")}, "zf run: -probe: runtime.mcall cannot be probed: it leaves its stack"},
		{[]string{"-probe", "main.f,,", file("f.elf")}, "want patterns of names parted by commas"},
		{[]string{"-probe-stacks", file("f.elf")}, "zf run: -probe-stacks wants -probe"},
		{[]string{"-probe-json", "x", file("f.elf")}, "zf run: -probe-json wants -probe"},
		{[]string{"-probe", "main.f", "x.iso"}, "give them to zf iso"},
	} {
		if code, _, stderr := zf(nil, append([]string{"run"}, tt.args...)...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("zf run %q = %d, %q; want %d and %q", tt.args, code, stderr, exitUsage, tt.want)
		}
	}
}

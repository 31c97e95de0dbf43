package qemu

// `zf test` beside `go test`, with the same flags for the same tests: what they print is
// the same, but for times and for what only one of them can know.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sameInBoth are the changes after which two outputs can be compared.
var sameInBoth = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\(\d+\.\d\ds\)`), "(TIME)"},
	{regexp.MustCompile(`\t(\(cached\)|\d+\.\d{3}s)`), "\tTIME"},
	{regexp.MustCompile(`\(\d+s\)`), "(TIME)"},
	// go test says with what status a test binary ended.
	{regexp.MustCompile(`(?m)^(exit status \d+|zf test: the program exited with status \d+)\n`), ""},
	// Where there is a trace, the runtime's own is cut off, and what follows it.
	{regexp.MustCompile(`(?s)\n\ngoroutine \d+ .*\nFAIL\t`), "\n\nTRACE\nFAIL\t"},
	// What a signal was is said in other words on the kernel than in user mode.
	{regexp.MustCompile(`(?m)^\[signal SIGSEGV.*\n`), ""},
}

func TestZfTest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   string
		status int
	}{
		{"-run Pass|Sub|Skip|Parallel", 0},
		{"-v -run Pass|Sub|Skip", 0},
		{"-v -run Parallel", 0},
		{"-v -run Sub/two", 0},
		{"-v -skip Fail|Panic|Exit|Hang|Open|Parallel", 0},
		{"-v -short -run Short", 0},
		{"-v -run Short", 0},
		{"-v -count=3 -run Count", 0},
		{"-list Pass|Sub", 0},
		{"-v -cpu 1,2 -run Count", 0},
		{"-v -shuffle 7 -run Pass|Sub|Skip", 0},
		{"-v PKG -short -run Count -args x -v", 0},
		{"-count=2 -run Fail", 1},
		{"-v -run Fail|Pass", 1},
		{"-failfast -run Fail", 1},
		{"-run Open", 1},
		{"-run nosuch", 0},
		{"-run TestPanic", 1},
		{"-v -run Pass|Panic|Sub", 1},
		{"-run Exit0", 1},
		{"-run Exit3", 1},
		{"-timeout 3s -run HangTicking", 1},
		{"-v -timeout 3s -run Pass|Hang", 1},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"test"}, strings.Fields(tt.args)...)
			if i := slices.Index(args, "PKG"); i >= 0 {
				args[i] = "./testdata/tests"
			} else {
				args = append(args, "./testdata/tests")
			}
			native, err := exec.Command("go", append([]string{"test", "-vet=off"}, args[1:]...)...).Output()
			if status := exitCode(t, err); status != tt.status {
				t.Fatalf("go test: status %d; want %d\n%s", status, tt.status, native)
			}
			zf := exec.Command(zfCommand(t), args...)
			zf.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goCache(t)) // nothing is kept
			out, err := zf.Output()
			if status := exitCode(t, err); status != tt.status {
				t.Errorf("zf test: status %d; want %d", status, tt.status)
			}
			got, want := bootReport.ReplaceAllString(string(out), ""), string(native)
			for _, s := range sameInBoth {
				got, want = s.re.ReplaceAllString(got, s.to), s.re.ReplaceAllString(want, s.to)
			}
			if strings.Contains(tt.args, "-v -run Parallel") {
				// Which of two parallel tests goes on first is the scheduler's choice.
				got, want = sortedLines(got), sortedLines(want)
			}
			if got != want {
				t.Errorf("zf test %s prints\n%s\nwant\n%s", tt.args, got, want)
			}
		})
	}
}

func sortedLines(s string) string {
	return strings.Join(slices.Sorted(strings.SplitAfterSeq(s, "\n")), "")
}

// TestZfTestC: the image that zf test -c writes runs the tests under zf run, with the flags of a
// test binary, as the program that go test -c writes does.
func TestZfTestC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary, image := filepath.Join(dir, "tests.test"), filepath.Join(dir, "tests.test.elf")
	for _, c := range []*exec.Cmd{
		exec.Command("go", "test", "-vet=off", "-c", "-o", binary, "./testdata/tests"),
		zfTest(t, "-c", "-o", dir+"/", "./testdata/tests"),
	} {
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	for args, status := range map[string]int{"-test.v -test.run=Pass|Sub|Skip": 0, "-test.run=Fail": 1} {
		native, err := exec.Command(binary, strings.Fields(args)...).Output()
		if got := exitCode(t, err); got != status {
			t.Fatalf("%s %s: status %d; want %d", binary, args, got, status)
		}
		got, err := zfRun(t, append([]string{"-q", image, "--"}, strings.Fields(args)...)...).Output()
		if code := exitCode(t, err); (code == 0) != (status == 0) {
			t.Errorf("zf run %s: status %d; go's is %d", args, code, status)
		}
		is, want := string(got), string(native)
		for _, s := range sameInBoth {
			is, want = s.re.ReplaceAllString(is, s.to), s.re.ReplaceAllString(want, s.to)
		}
		if is != want {
			t.Errorf("zf run %s:\n%s\nwant\n%s", args, is, want)
		}
	}
}

package qemu

// What zf replay shows of a recording while it is replayed: calls, expressions. The program
// of testdata/observed has known answers, and each replay is verified as one that nobody looks at.

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordObserved records the program.
func recordObserved(t *testing.T) string {
	t.Helper()
	path, stdout, status := makeRecording(t, nil, "-q", program(t, "observed"), "--", "die")
	if status != 1 || !strings.Contains(stdout, "closed 33\n") {
		t.Fatalf("the run has status %d, and says\n%s", status, stdout)
	}
	return path
}

// look replays the recording with flags, which must go well and verify, and returns what it says.
func look(t *testing.T, path string, flags ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, status := replayed(t, path, append([]string{"-q"}, flags...)...)
	if status != 0 || !strings.Contains(stderr, "zf replay: the same as recorded: ") {
		t.Fatalf("zf replay %q: status %d\n%s\n%s", flags, status, stdout, stderr)
	}
	return stdout, stderr
}

// TestObserve: each call is said once, with its arguments, and an expression where it was asked
// for.
func TestObserve(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	t.Run("calls", func(t *testing.T) {
		t.Parallel()
		out, _ := look(t, path, "-probe", "main.handle args", "-probe", "main.grow", "-print-on", "main.(*conn).close", "c.id, c.name, len(c.sent), main.closed", "-print-on", "observed/main.go:29 c.id*2, c.sent[100]")
		var want []string
		for i := range 3 {
			closed := fmt.Sprintf(`main.(*conn).close: c.id = %d, c.name = "worker %d", len(c.sent) = 18, main.closed = `, 10+i, i)
			want = append(want, closed)
			for j := range 3 {
				want = append(want,
					fmt.Sprintf(`main.handle(c = *main.conn {id: %d, name: "worker %d", sent: []uint8 len: %d, `, 10+i, i, 6*j)+fmt.Sprintf(`n = %d, name = "part %d", part = %d.5)`, j, j, j))
			}
		}
		var got []string
		grown, before := 0, 0
		said := regexp.MustCompile(`^instruction (\d+) \(\S+\), goroutine \d+: (.*)$`)
		for line := range strings.Lines(out) {
			m := said.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Fatalf("a line of its own kind: %q", line)
			}
			var at int
			fmt.Sscan(m[1], &at)
			if at < before {
				t.Errorf("instruction %d behind %d", at, before)
			}
			before = at
			switch text := m[2]; {
			case text == "main.grow":
				grown++
			case strings.HasPrefix(text, "observed/main.go:29: "):
			case strings.HasPrefix(text, "main.handle("):
				// What stands between is the slice's capacity and bytes.
				i, k := strings.Index(text, "len: "), strings.Index(text, "}, n = ")
				if i < 0 || k < i {
					t.Fatalf("%q", text)
				}
				i += strings.IndexByte(text[i:], ',') + 2
				got = append(got, text[:i]+text[k+len("}, "):])
			default:
				i := strings.LastIndexByte(text, ' ') + 1
				got = append(got, text[:i])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("said is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if grown != 101 {
			t.Errorf("%d calls of main.grow, not 101", grown)
		}
		if n := strings.Count(out, "observed/main.go:29: c.id*2 = "); n != 3 || strings.Count(out, ", c.sent[100]: ") != 3 {
			t.Errorf("line 29 is said %d times in\n%s", n, out)
		}
	})
	t.Run("not called", func(t *testing.T) {
		t.Parallel()
		out, stderr := look(t, path, "-probe", "runtime.throw", "-print-on", "main.waitForever c", "-probe", "main.die")
		if !strings.HasSuffix(out, "main.die\n") {
			t.Errorf("of main.die is said %.200q", out)
		}
		for said, times := range map[string]int{
			"zf replay: no call of runtime.throw\n": 1, "zf replay: the machine has not come to main.waitForever\n": 1, "main.die": 0,
		} {
			if strings.Count(stderr, said) != times {
				t.Errorf("%q is not said %d times in\n%s", said, times, stderr)
			}
		}
	})
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		core := filepath.Join(t.TempDir(), "at.core")
		_, stderr, status := replayed(t, path, "-q", "-at", "death-1", "-core", core)
		if status != 0 || !strings.Contains(stderr, "stopped at instruction ") {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		elf := strings.TrimSuffix(core, ".core") + ".core.elf"
		out, err := exec.Command(zfCommand(t), "goroutines", "-e", elf, core).Output()
		// The first byte of "panic: " is sent by main.die's panic, and the program's only other goroutine
		// has not begun.
		for _, want := range []string{"goroutine 1 [", " main.die(...)\n", "main.main.gowrap1(...)"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q is not in\n%s%v", want, out, err)
			}
		}
		if strings.Contains(string(out), "worker") || strings.Contains(string(out), "main.main.func1") {
			t.Errorf("a worker is left in\n%s", out)
		}
		if out, err := exec.Command(zfCommand(t), "trace", "-e", elf, core).Output(); err != nil || !strings.Contains(string(out), "write") {
			t.Errorf("zf trace: %v, %.200s", err, out)
		}
	})
}

// TestObserveWrong: what cannot be looked at is said before anything runs.
func TestObserveWrong(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	for _, tt := range []struct {
		flags []string
		says  string
	}{
		{[]string{"-probe", "main.nothing"}, `no function matches "main.nothing"`},
		{[]string{"-probe", "main.handle all"}, "want a pattern of functions' names, or 'PATTERN args'"},
		{[]string{"-print-on", "main.handle c.id +"}, `"c.id +" is no expression of Go's`},
		{[]string{"-print-on", "main.go:1 c.id"}, "no code is of main.go:1; line "},
		{[]string{"-print-on", "main.handle nobody"}, "-print-on main.handle: there is no variable nobody"},
		{[]string{"-print-on", "observed/main.go:29 c.id, main.nothing"}, "-print-on observed/main.go:29: there is no variable main.nothing"},
		{[]string{"-probe", "main.handle", "-gdb", "0"}, "do not go with -gdb"},
		{[]string{"-at", "birth"}, "death-1ms"},
	} {
		if _, stderr, status := replayed(t, path, tt.flags...); status != 2 || !strings.Contains(stderr, tt.says) {
			t.Errorf("zf replay %q: status %d, says\n%s\nwant %q", tt.flags, status, stderr, tt.says)
		}
	}
}

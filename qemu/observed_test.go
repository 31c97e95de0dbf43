package qemu

// What zf replay shows of a recording while it is replayed: calls, expressions, goroutines, a profile. The program
// of testdata/observed has known answers, and each replay is verified as one that nobody looks at.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
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

// TestObserve: each call is said once, with its arguments, and an expression where it was asked for.
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
	t.Run("profile", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "cpu.pb.gz")
		_, stderr := look(t, path, "-profile", file, "-profile-every", "50000")
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := pprof.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		var samples, heavy, light int64
		for _, s := range p.Sample {
			samples += s.Value[0]
			if s.Value[1]%50000 != 0 {
				t.Errorf("a stack of %d instructions", s.Value[1])
			}
			for _, l := range s.Location {
				for _, line := range l.Line {
					switch line.Function.Name {
					case "main.heavy":
						heavy += s.Value[1]
					case "main.light":
						light += s.Value[1]
					}
				}
			}
		}
		if !strings.Contains(stderr, fmt.Sprintf("wrote %s: %d samples, each of 50000 instructions", file, samples)) {
			t.Errorf("it has %d samples, and said is\n%s", samples, stderr)
		}
		// They run 20 times 60,000 and 20,000 rounds of eight instructions, and nothing else. A sample is in one function
		// or in the other, so each of the 20 calls is counted to within one.
		if want := int64(20 * 60000 * 8); heavy < want-20*50000 || heavy > want+20*50000 {
			t.Errorf("main.heavy has %d instructions, not %d", heavy, want)
		}
		if want := int64(20 * 20000 * 8); light < want-20*50000 || light > want+20*50000 {
			t.Errorf("main.light has %d instructions, not %d", light, want)
		}
	})
	t.Run("not called", func(t *testing.T) {
		t.Parallel()
		out, stderr := look(t, path, "-probe", "runtime.throw", "-print-on", "main.waitForever c", "-probe", "main.die", "-profile", "-", "-profile-every", "200000")
		if _, profile, ok := strings.Cut(out, "main.die\n"); !ok {
			t.Errorf("of main.die is said %.200q", out)
		} else if _, err := pprof.ParseData([]byte(profile)); err != nil {
			t.Errorf("-profile -: %v", err)
		}
		if _, err := os.Stat("-"); err == nil {
			t.Error("there is a file -")
		}
		for said, times := range map[string]int{
			"zf replay: no call of runtime.throw\n": 1, "zf replay: the machine has not come to main.waitForever\n": 1, "main.die": 0, "wrote -": 0,
		} {
			if strings.Count(stderr, said) != times {
				t.Errorf("%q is not said %d times in\n%s", said, times, stderr)
			}
		}
	})
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "events.json")
		out, stderr, status := replayed(t, path, "-q", "-at", "death-1", "-goroutines", "-trace", file)
		if status != 0 || !strings.Contains(stderr, "stopped at instruction ") {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		// The first byte of "panic: " is sent by main.die's panic, and the program's only other goroutine has not begun.
		for _, want := range []string{"goroutine 1 [", "\nmain.die(...)\n", "main.main.gowrap1(...)"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		if strings.Contains(out, "worker") || strings.Contains(out, "main.main.func1") {
			t.Errorf("a worker is left in\n%s", out)
		}
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "write") {
			t.Errorf("-trace: %v, %.200s", err, b)
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
		{[]string{"-profile-every", "7"}, "-profile-every wants -profile FILE"},
		{[]string{"-probe", "main.handle", "-gdb", "0"}, "do not go with -gdb"},
		{[]string{"-at", "birth"}, "death-1ms"},
	} {
		if _, stderr, status := replayed(t, path, tt.flags...); status != 2 || !strings.Contains(stderr, tt.says) {
			t.Errorf("zf replay %q: status %d, says\n%s\nwant %q", tt.flags, status, stderr, tt.says)
		}
	}
}

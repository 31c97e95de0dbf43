package qemu

// `zf test -json` beside `go test -json`: the same events, but for times and for what only
// one of them can know.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// testEvent is the part of an event that is compared (go doc test2json, go help buildjson).
type testEvent struct {
	Action, Package, ImportPath, Test, Output, FailedBuild, Key, Value string
}

// sameEvents are the changes after which two texts of events can be compared, beside those
// of sameInBoth.
var sameEvents = []struct {
	re *regexp.Regexp
	to string
}{
	// The host has several processors of some kind, the machine one of another.
	{regexp.MustCompile(`(?m)^cpu: .*\n`), ""},
	{regexp.MustCompile(`(Benchmark\w+)-\d+`), "$1"},
	{regexp.MustCompile(`[ \d.]+ (ns/op|B/op|allocs/op)`), "N $1"},
	{regexp.MustCompile(`(?m)^(Benchmark\w+)?[ \t]+\d*\t? *N ns/op`), "$1 N ns/op"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// testStream is what a stream of events says of each test, by its name behind its package's,
// and of each package: its actions, with the text of its output between them.
type testStream struct {
	order []string
	by    map[string]string
}

func readEvents(t *testing.T, stream []byte) testStream {
	t.Helper()
	s := testStream{by: make(map[string]string)}
	// Tests of package errors have pointers in their names.
	stream = regexp.MustCompile(`0x[0-9a-f]{6,}`).ReplaceAll(stream, []byte("ADDRESS"))
	for line := range bytes.Lines(stream) {
		var ev testEvent
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatalf("not an event: %q: %v", line, err)
		}
		name := ev.Package + ev.ImportPath + " " + ev.Test
		if _, ok := s.by[name]; !ok {
			s.order = append(s.order, name)
		}
		if ev.Action == "output" || ev.Action == "build-output" {
			s.by[name] += ev.Output
		} else {
			s.by[name] += fmt.Sprintln("-", ev.Action, ev.FailedBuild, ev.Key, ev.Value)
		}
	}
	for name, text := range s.by {
		for _, r := range sameInBoth {
			text = r.re.ReplaceAllString(text, r.to)
		}
		for _, r := range sameEvents {
			text = r.re.ReplaceAllString(text, r.to)
		}
		// Behind the runtime's trace comes the kernel's.
		if before, after, ok := strings.Cut(text, "\ngoroutine "); ok {
			_, end, _ := strings.Cut(after, "\n- ")
			text = before + "\nTRACE\n- " + end
		}
		s.by[name] = text
	}
	return s
}

// timeoutHint is what zf test says of a -timeout.
var timeoutHint = regexp.MustCompile(`(?m)^zf test: -timeout 5s has run out; a machine that is emulated is slower than this host: -timeout 50s gives it ten times as long$`)

func TestZfTestEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args string }{
		{"most", "-bench=. -benchtime=10x -skip=Panic|Exit|Hang|Short|Parallel ./testdata/tests ./testdata/covered/untested"},
		{"verbose", "-v -run=Pass|Sub|Fail|Skip ./testdata/tests"},
		{"panic", "-run=Pass|Panic|Sub ./testdata/tests"},
		{"broken", "-tags=broken ./testdata/covered"},
		{"cover", "-v -cover -run=Words ./testdata/covered/..."},
		{"parallel", "-run=Parallel|Short|Count -count=2 -short ./testdata/tests"},
		{"exit", "-run=Exit3 ./testdata/tests"},
		{"none", "-run=nosuch ./testdata/tests ./testdata/covered"},
		{"timeout", "-timeout=5s -run=HangTicking ./testdata/tests"},
		{"errors", "-short errors"},
		{"container", "-short container/list container/ring container/heap"},
		{"strings", "-short strings"},
		{"sort", "-short -skip=Ops sort"},
		{"encoding", "-short encoding/csv encoding/hex"},
		{"text", "-short text/tabwriter path unicode/utf8"},
		{"bufio", "-short bufio"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			words := append([]string{"test", "-json"}, strings.Fields(args)...)
			native, err := exec.Command("go", append(words, "-vet=off", "-p=1")...).Output()
			status := exitCode(t, err)
			zf := exec.Command(zfCommand(t), append(words, "-p=1")...)
			zf.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+goCache(t)) // nothing is kept
			var msg bytes.Buffer
			zf.Stderr = &msg
			out, err := zf.Output()
			if got := exitCode(t, err); (got == 0) != (status == 0) {
				t.Errorf("zf test: status %d; go test's is %d", got, status)
			}
			if hint := timeoutHint.MatchString(msg.String()); hint != (tt.name == "timeout") {
				t.Errorf("on standard error stands %q; want a hint what would do, if a -timeout has run out", msg.String())
			}
			got, want := readEvents(t, out), readEvents(t, native)
			if len(want.order) < 2 {
				t.Fatalf("go test has the events\n%s", native)
			}
			if !strings.Contains(args, "Parallel") && strings.Join(got.order, "\n") != strings.Join(want.order, "\n") {
				t.Errorf("the tests are\n%s\nwant\n%s", strings.Join(got.order, "\n"), strings.Join(want.order, "\n"))
			}
			for name, text := range want.by {
				if got.by[name] != text {
					t.Errorf("%s: the events are\n%s\nwant\n%s", name, got.by[name], text)
				}
			}
			for name, text := range got.by {
				if _, ok := want.by[name]; !ok {
					t.Errorf("%s: the events are\n%s\nwant none", name, text)
				}
			}
		})
	}
}

package batch

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"sync/atomic"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ args, says, err string }{
		{"-n 3", "", ""},
		{"-h", "Usage: x\n  -n N\n", "help requested"},
		{"-n x", "", "-h lists the flags"},
		{"-n 0", "", "-n is 0; -h lists the flags"},
		{"-n 3 extra", "", "unexpected extra; -h lists the flags"},
	} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		n := fs.Int("n", 1, "do `N`")
		var stdout bytes.Buffer
		err := Parse(fs, strings.Fields(tt.args), "Usage: x\n", &stdout, func() error {
			if *n == 0 {
				return errors.New("-n is 0")
			}
			return nil
		})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || !strings.Contains(stdout.String(), tt.says) ||
			errors.Is(err, flag.ErrHelp) != (tt.args == "-h") {
			t.Errorf("x %s: %v, %q; want %q, %q", tt.args, err, stdout.String(), tt.err, tt.says)
		}
	}
}

func TestEach(t *testing.T) {
	var done [20]atomic.Int32
	if err := Each(context.Background(), len(done), 3, func(_ context.Context, i int) error {
		done[i].Add(1)
		return nil
	}); err != nil {
		t.Error(err)
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}

	// With one at a time, nothing is begun after an error.
	bad, last := errors.New("bad"), 0
	err := Each(context.Background(), 20, 1, func(ctx context.Context, i int) error {
		if last = i; i == 3 {
			return bad
		}
		return ctx.Err()
	})
	if err != bad || last > 4 {
		t.Errorf("Each() = %v after %d; want %v after 3", err, last, bad)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Each(ctx, 20, 2, func(context.Context, int) error { return nil }); err != context.Canceled {
		t.Errorf("Each() of an ended context = %v; want %v", err, context.Canceled)
	}
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"noise|    a_test.go:5: got 1|more":        "got 1",
		"    a_test.go:5: got: |  1|more":          "got: 1",
		"    a_test.go:5: got:":                    "got:",
		"    a_test.go:5: |        Error Trace: x": "Error Trace: x",
		"    a_test.go:5: |  \tError Trace:\ta|  b|  \tError:   \tNot equal: |  \t  expected: 1|  \tTest: \tTestA": "Not equal: expected: 1",
		"    a_test.go:5: got 1|panic: test timed out after 3s":                                                    "panic: test timed out after 3s",
		"noise|fatal error: all goroutines are asleep|goroutine":                                                   "fatal error: all goroutines are asleep",
		"noise|last words": "last words",
		"":                 "it ended without a word",
	} {
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == '|' })
		if got := Said(lines); got != want {
			t.Errorf("Said(%q) = %q; want %q", lines, got, want)
		}
	}
	for line, want := range map[string]bool{
		"fork/exec /bin/true: function not implemented":     true,
		`x: exec: "go": executable file not found in $PATH`: true,
		"inotify_init1: function not implemented":           false,
		"open /etc/hosts: no such file or directory":        false,
	} {
		if NeedsProgram(line) != want {
			t.Errorf("NeedsProgram(%q) = %v; want %v", line, !want, want)
		}
	}
}

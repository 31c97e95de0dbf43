package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// TestFlags are those of a command that runs the tests of packages; what they have at first is
// the default.
type TestFlags struct {
	Run       *regexp.Regexp // packages
	Resume    bool
	Timeout   time.Duration
	MemoryMiB int
	Parallel  int
	Logs, Out string // folder, file; "" for none
	ZF, Dir   string // set by Make: the command, and a folder for what is made
}

// Parse parses a command line of these flags and of those that flags has. wrong looks at the
// others.
func (s *TestFlags) Parse(flags *flag.FlagSet, args []string, usage string, stdout io.Writer,
	wrong func() error) error {
	run := flags.String("run", "", "try only the packages whose import path matches `REGEXP`")
	flags.BoolVar(&s.Resume, "resume", false, "do not try again what the -o file has already")
	flags.DurationVar(&s.Timeout, "timeout", s.Timeout, "end a package's tests after `TIME`")
	flags.IntVar(&s.MemoryMiB, "m", s.MemoryMiB, "RAM of each machine in `MIB`")
	flags.IntVar(&s.Parallel, "p", 2, "have `N` machines at once")
	flags.StringVar(&s.Out, "o", "",
		"write the table to `FILE` after each package (default: print it at the\nend); "+
			"what it says of packages that are not tried stays")
	flags.StringVar(&s.Logs, "logs", "", "keep what each package's tests printed, in folder `DIR`")
	return Parse(flags, args, usage, stdout, func() (err error) {
		if s.Parallel < 1 || s.Timeout <= 0 {
			return errors.New("-p and -timeout must be more than 0")
		}
		if s.Resume && s.Out == "" {
			return errors.New("-resume needs -o")
		}
		if s.Run, err = regexp.Compile(*run); err == nil {
			err = wrong()
		}
		return err
	})
}

// Table is a table of packages.
type Table interface {
	String() string // all of it
	Head() string   // its first line
	Sum() string    // what it comes to
	// Load takes the lines of a table that was written before, after the first one.
	Load(lines string) error
}

// Make has try make the table's rows, with the folders and the command zf there, and shows the
// table. Rows of other packages stay as they are in the file. If the file is of another Go or other
// machines, that is an error where some packages only are tried.
func (s *TestFlags) Make(ctx context.Context, t Table, some bool, stdout io.Writer,
	try func() error) (err error) {
	text, err := os.ReadFile(s.Out)
	head, lines, _ := strings.Cut(string(text), "\n")
	switch {
	case s.Out == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case head == t.Head():
		if err := t.Load(lines); err != nil {
			return fmt.Errorf("%s: %w", s.Out, err)
		}
	case some || s.Resume || s.Run.String() != "":
		return fmt.Errorf("%s begins with %q, and not with %q; remove it, or make it anew as a whole",
			s.Out, head, t.Head())
	}
	if s.Logs != "" {
		if err := os.MkdirAll(s.Logs, 0o755); err != nil {
			return fmt.Errorf("-logs: %w", err)
		}
	}
	if s.Dir, err = os.MkdirTemp("", "zf-tests-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.Dir)
	if s.ZF, err = BuildZF(ctx, s.Dir); err != nil {
		return err
	}
	if err := try(); err != nil {
		if ctx.Err() != nil && s.Out != "" {
			err = fmt.Errorf("%w; -resume -o %s does the rest", err, s.Out)
		}
		return err
	}
	if s.Out == "" {
		_, err = io.WriteString(stdout, t.String())
		return err
	}
	fmt.Fprintf(stdout, "%s\nThe table is in %s.\n", t.Sum(), s.Out)
	return s.Write(t) // what a list has of reasons may be new
}

// Write writes the table to the file, if there is one.
func (s *TestFlags) Write(t Table) error {
	if s.Out == "" {
		return nil
	}
	return Replace(s.Out, t.String())
}

// Test runs `go test` or `zf test` -json of a package with some flags, in dir, and keeps what it
// prints in the log of that name. That tests fail is no error.
func (s *TestFlags) Test(ctx context.Context, command, dir, log, pkg string, env []string,
	flags ...string) (*Tests, error) {
	args := append([]string{"test", "-json", "-count=1"}, flags...)
	cmd := exec.CommandContext(ctx, command, append(args, pkg)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // zf ends its machine
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.As(err, &exit):
		return nil, err
	}
	if s.Logs != "" {
		file := filepath.Join(s.Logs, strings.ReplaceAll(pkg, "/", "_")+"."+log)
		if err := os.WriteFile(file, append(out.Bytes(), stderr.Bytes()...), 0o644); err != nil {
			return nil, err
		}
	}
	t := ReadTests(out.Bytes(), stderr.Bytes())
	t.Status = cmd.ProcessState.ExitCode()
	return t, nil
}

// Tests is what `go test -json` or `zf test -json` says of a package.
type Tests struct {
	Status  int
	Output  []byte // the events
	Built   bool   // a test binary has run
	Passed  bool
	Seconds float64
	Begun   []string            // the tests, in that order, with subtests
	Ended   []string            // the same, those that have passed, failed or been skipped
	Actions map[string]string   // by test: pass, fail or skip
	Lines   map[string][]string // by test without subtests, "" for none: what it printed

	latest string          // the test that the latest event is of
	paused map[string]bool // tests
}

// Event is one of `go test -json`; Elapsed is in s.
type Event struct {
	Action, Test, Output, FailedBuild string
	Elapsed                           float64
}

// TopLevel is the test that a subtest belongs to.
func TopLevel(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// header is a line that says which test begins or has ended.
var header = regexp.MustCompile(`^\s*(?:=== |--- (PASS|FAIL|SKIP): (.*) \([0-9.]+s\)$)`)

// ended notes how a test has ended.
func (t *Tests) ended(test, action string) {
	if t.Actions[test] == "" {
		t.Ended = append(t.Ended, test)
	}
	t.Actions[test] = action
}

// ReadTests reads the events. What is no event was printed by the command, as standard error
// was.
func ReadTests(out, stderr []byte) *Tests {
	t := &Tests{Output: out, Actions: map[string]string{}, Lines: map[string][]string{},
		paused: map[string]bool{}}
	print := func(test, line string) {
		line = strings.TrimRight(line, "\r\n")
		top := TopLevel(test)
		if m := header.FindStringSubmatch(line); m == nil || test == "" {
			if strings.TrimSpace(line) != "" {
				t.Lines[top] = append(t.Lines[top], line)
			}
			// the event of the last one does not come where the program dies after it
		} else if m[2] == test {
			t.ended(test, strings.ToLower(m[1]))
		}
	}
	for line := range bytes.Lines(out) {
		var e Event
		if json.Unmarshal(line, &e) != nil {
			e = Event{Action: "output", Output: string(line)}
		}
		if e.Test != "" {
			t.latest = TopLevel(e.Test)
		}
		switch e.Action {
		case "output", "build-output":
			print(e.Test, e.Output)
		case "pause", "cont":
			t.paused[e.Test] = e.Action == "pause"
		case "run":
			t.Begun = append(t.Begun, e.Test)
		case "pass", "fail", "skip":
			if e.Test != "" {
				t.ended(e.Test, e.Action)
				continue
			}
			t.Passed, t.Seconds = e.Action != "fail", e.Elapsed
			t.Built = e.FailedBuild == "" && !slices.ContainsFunc(t.Lines[""], func(s string) bool {
				return strings.HasPrefix(s, "FAIL") && (strings.HasSuffix(s, "[build failed]") ||
					strings.HasSuffix(s, "[setup failed]"))
			})
		}
	}
	for line := range strings.Lines(string(stderr)) {
		print("", line)
	}
	return t
}

// Count counts the tests without subtests that have ended so.
func (t *Tests) Count(action string) (n int) {
	for test, a := range t.Actions {
		if a == action && test == TopLevel(test) {
			n++
		}
	}
	return n
}

// stillRuns is a line of the list of tests that ran when their time was over.
var stillRuns = regexp.MustCompile(`^\t+(\S+) \([0-9.hms]+\)$`)

// Failed returns the tests without subtests that ran when the time was over, and then those that
// failed; without any of these, the one in which the program ended.
func (t *Tests) Failed() (names []string) {
	add := func(name string) {
		if name == TopLevel(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, lines := range t.Lines {
		if i := slices.IndexFunc(lines, Overtime); i >= 0 {
			for _, line := range lines[min(i+2, len(lines)):] { // after "running tests:"
				m := stillRuns.FindStringSubmatch(line)
				if m == nil {
					break
				}
				add(TopLevel(m[1]))
			}
		}
	}
	for _, name := range t.Ended {
		if t.Actions[name] == "fail" {
			add(name)
		}
	}
	if names == nil && t.latest != "" && t.Actions[t.latest] == "" && !t.paused[t.latest] {
		names = []string{t.latest}
	}
	return names
}

// End is what the program said when it ended.
func (t *Tests) End() string {
	lines := slices.DeleteFunc(slices.Concat(t.Lines[t.latest], t.Lines[""]), func(s string) bool {
		return strings.HasPrefix(s, "FAIL") || strings.HasPrefix(s, "exit status")
	})
	return strings.TrimSpace(End(lines))
}

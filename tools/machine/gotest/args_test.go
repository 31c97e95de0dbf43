package gotest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// parsed is what becomes of a command line.
func parsed(t *testing.T, line string) (f *Flags, packages []string, err error) {
	t.Helper()
	f = new(Flags)
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.String("append", "", "one of the command's own")
	f.Register(fs)
	packages, err = f.Parse(fs, strings.Fields(line))
	return f, packages, err
}

func TestParse(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for _, tt := range []struct {
		line             string
		packages, binary string
	}{
		{"", "", ""},
		{"-v ./...", "./...", "-test.v=true"},
		{"./a ./b -v -run X", "./a ./b", "-test.v=true -test.run=X"},
		{"-append line -short a -timeout=3s", "a", "-test.short=true -test.timeout=3s"},
		{"--v=false a", "a", "-test.v=false"},
		{"-test.v -test.run=X a", "a", "-test.v=true -test.run=X"},
		{"a -update -v", "a", "-update -test.v=true"},
		{"a -update x -v", "a", "-update x -test.v=true"},
		{"a -update=1 x -v", "a", "-update=1 x -v"},
		{"a -v b -short", "a", "-test.v=true b -short"},
		{"-v -args -x -v", "", "-test.v=true -x -v"},
		{"-args math", "", "math"},
		{"a --args -run=X", "a", "-run=X"},
		{"a -- b -v", "a", "-- b -v"},
		{"a -h", "a", "-h"},
		{"-mod=mod -cover a", "a", ""},
	} {
		f, packages, err := parsed(t, tt.line)
		if got := strings.Join(packages, " "); err != nil || got != tt.packages || strings.Join(f.Binary, " ") != tt.binary {
			t.Errorf("zf test %s: packages %q, test binary %q, %v; want %q, %q", tt.line, got, f.Binary, err, tt.packages, tt.binary)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for line, want := range map[string]string{
		"-nosuch a":       "flag provided but not defined: -nosuch; a flag of the test's own stands behind the package or -args",
		"-run":            "flag needs an argument: -run",
		"-count=x a":      `invalid value "x" for flag -count: want a number`,
		"-p=0 a":          `invalid value "0" for flag -p: want 1 or more`,
		"-v=maybe a":      `invalid value "maybe" for flag -v: want true or false`,
		"-timeout=-1s a":  `invalid value "-1s" for flag -timeout: it is negative; 0 means none`,
		"-covermode=x a":  `invalid value "x" for flag -covermode: want set, count or atomic`,
		"-race a":         "-race cannot work here: the race detector needs cgo",
		"a -exec env":     "-exec cannot work here: zf test itself runs",
		"-msan a":         "-msan cannot work here: it needs cgo",
		"-h":              flag.ErrHelp.Error(),
		"-toolexec=env a": "-toolexec cannot work here",
		"-C":              "flag needs an argument: -C",
		"-C nosuch a":     "-C: chdir nosuch: ",
		"-v -C .. a":      `invalid value ".." for flag -C: it must be the first flag`,
	} {
		if _, _, err := parsed(t, line); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("zf test %s: %v; want %q", line, err, want)
		}
	}
	if _, _, err := parsed(t, "-help"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("zf test -help: %v; want flag.ErrHelp", err)
	}
}

// TestGOFLAGS: flags for tests that are set for good; those of the command line count more,
// as they stand behind.
func TestGOFLAGS(t *testing.T) {
	t.Setenv("GOFLAGS", "-short -mod=mod -count=2 -trimpath")
	f, _, err := parsed(t, "-count=3 a")
	if want := []string{"-test.short=true", "-test.count=2", "-test.count=3"}; err != nil || !slices.Equal(f.Binary, want) || f.Number("count", 1) != 3 || len(f.Build) > 0 || f.Defaults != 2 {
		t.Errorf("test binary %q, build %q, count %d, %d of GOFLAGS, %v; want %q, none, 3, 2", f.Binary, f.Build, f.Number("count", 1), f.Defaults, err, want)
	}
	t.Setenv("GOFLAGS", "-count=x")
	if _, _, err := parsed(t, "a"); err == nil || !strings.HasPrefix(err.Error(), "GOFLAGS: invalid value") {
		t.Errorf("GOFLAGS=-count=x: %v; want an error that names GOFLAGS", err)
	}
}

// TestEnter: -C comes first, in each way to write it; -C of another command is another flag.
func TestEnter(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for _, line := range []string{"-C " + dir + " -short a", "--C=" + dir + " -short a"} {
		t.Chdir(".")
		f, packages, err := parsed(t, line)
		if at, _ := os.Getwd(); err != nil || at != dir || !slices.Equal(packages, []string{"a"}) || !f.On("short") {
			t.Errorf("zf test %s: in %s, packages %q, %v; want %s, a", line, at, packages, err, dir)
		}
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.Bool("C", false, "")
	if rest, err := Enter(fs, []string{"-C", "x"}); err != nil || len(rest) != 2 {
		t.Errorf("Enter for another -C = %q, %v; want both words", rest, err)
	}
}

func TestFlags(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for _, tt := range []struct {
		line             string
		cacheable, shows bool
	}{
		{"a", true, false},
		{"-v -short -run=X -timeout=3s -json -cover a", true, true},
		{"-list . a", true, true},
		{"-count=1 a", false, false},
		{"-bench=. a", false, false},
		{"-shuffle=on a", false, false},
		{"a -update", false, false},
		{"a -args x", false, false},
		{"-tags=x a", true, false},
		{"-v=test2json a", true, true},
	} {
		if strings.HasPrefix(tt.line, "-tags") {
			continue // the command's own
		}
		f, _, err := parsed(t, tt.line)
		if err != nil || f.Cacheable() != tt.cacheable || f.ShowsPass() != tt.shows {
			t.Errorf("zf test %s: %v, from the cache %v, shows what passes %v; want %v, %v", tt.line, err, f.Cacheable(), f.ShowsPass(), tt.cacheable, tt.shows)
		}
	}
	f, _, err := parsed(t, "-coverprofile=c -trace=t -blockprofile=b -p=3 a")
	if got := fmt.Sprintln(err, f.Cover(), f.CoverMode(), f.Files(), f.Number("p", 1), f.Duration("timeout", time.Minute)); got != "<nil> true set [blockprofile trace] 3 1m0s\n" {
		t.Errorf("-coverprofile, -trace, -blockprofile and -p: %s", got)
	}
	if f, _, _ := parsed(t, "a"); f.CPU("host") || f.CPU("1,,2") || f.CPU("0") || !f.CPU("1,2") || f.Binary[0] != "-test.cpu=1,2" {
		t.Errorf("-cpu: test binary %q; want lists of numbers taken alone", f.Binary)
	}
}

// TestEveryFlag: each flag that the go command's own help lists has a row, or is one that
// the command itself defines.
func TestEveryFlag(t *testing.T) {
	known := map[string]bool{"args": true, "cpuprofile": true, "memprofile": true, "tags": true, "gcflags": true, "ldflags": true, "buildmode": true}
	for _, r := range rows {
		known[r.name] = true
	}
	found := 0
	for _, topic := range []string{"testflag", "test", "build"} {
		out, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t-([A-Za-z]+)`).FindAllStringSubmatch(string(out), -1) {
			if found++; !known[m[1]] {
				t.Errorf("go help %s has -%s, and rows has not", topic, m[1])
			}
		}
	}
	if found < 60 {
		t.Errorf("%d flags found; want all of go test's and go build's", found)
	}
}

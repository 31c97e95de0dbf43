// Stdtable runs the tests of Go's standard packages on the kernel, each package on a
// machine of its own, and makes a table of how they went: qemu/std.txt in the
// repository. It is what `make test-std` runs; -h says more.
//
//	main.go     the command: which packages, two at a time, and the progress
//	package.go  one package, until it passes or what fails is known
//	output.go   what a test binary has printed -> which tests failed, and how
//	reasons.go  why a test cannot pass on this machine
//	table.go    the table and its last line
//	keep.go     a table of which some rows are made anew
//
// A package is tested by the command `zf test`, as a user would: a package that the
// table says passes, passes by hand too. Context: the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/image"
)

const usageText = `Usage: stdtable [flags]

Stdtable boots the tests of each package of "go list std" that has some, with
-short, and prints a table: pass or fail, how many tests passed and how many
skipped themselves, and why the rest does not pass.

When tests fail it runs the package again without them. A package that then
passes is "pass" with those tests named as an exception, if for each of them
it is known what it needs that the machine has not: another process, a network.
That is recognized in what the test printed, or said in reasons.go. Any other
failure is a "fail", with the first thing the first failing test said.

The last line counts. The packages that need no network and no subprocess are
all but those that pass with exceptions for these two reasons alone; of them,
one counts as passed only if it has no exception at all.

Exit status: 0 the table is complete, whatever is in it; 2 it is not.

Flags:

`

// settings is what the command line says.
type settings struct {
	run       *regexp.Regexp
	timeout   time.Duration
	memoryMiB int
	parallel  int
	logs      string // folder, "" for none
	zf        string // path of the command
}

func main() { batch.Main("stdtable", command) }

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("stdtable", flag.ContinueOnError)
	run := fs.String("run", "", "test only the packages whose import path matches `REGEXP`")
	fs.DurationVar(&s.timeout, "timeout", 10*time.Minute, "end a package's tests after `TIME`")
	fs.IntVar(&s.memoryMiB, "m", 1024, "RAM of each machine in `MIB`")
	fs.IntVar(&s.parallel, "p", 2, "test `N` packages at once")
	out := fs.String("o", "", "write the table to `FILE` (default: print it at the end); with -run,\nwhat it says of other packages stays")
	fs.StringVar(&s.logs, "logs", "", "keep what each package's tests printed, in folder `DIR`")
	err := batch.Parse(fs, args, usageText, stdout, func() (err error) {
		if s.parallel < 1 || s.timeout <= 0 {
			return errors.New("-p and -timeout must be more than 0")
		}
		s.run, err = regexp.Compile(*run)
		return err
	})
	if err != nil {
		return err
	}
	if s.logs != "" {
		if err := os.MkdirAll(s.logs, 0o755); err != nil {
			return fmt.Errorf("-logs: %w", err)
		}
	}

	tmp, err := os.MkdirTemp("", "stdtable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if s.zf, err = batch.BuildZF(ctx, tmp); err != nil {
		return err
	}
	version, err := goVersion(ctx)
	if err != nil {
		return err
	}
	rows, err := s.all(ctx, stderr)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = io.WriteString(stdout, formatTable(version, s, rows))
		return err
	}
	if rows, err = s.keep(*out, version, rows); err != nil {
		return err
	}
	table := formatTable(version, s, rows)
	if err := os.WriteFile(*out, []byte(table), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\nThe table is in %s.\n", summary(rows), *out)
	return nil
}

// goVersion returns the version of the Go whose packages are tested.
func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// packages returns the import paths of what is to be tested.
func (s *settings) packages(ctx context.Context) (paths []string, err error) {
	all, err := image.TestPackages(ctx, image.BuildOptions{Test: true}, []string{"std"})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		switch {
		case p.Err != nil:
			return nil, p.Err
		case p.HasTests && s.run.MatchString(p.ImportPath):
			paths = append(paths, p.ImportPath)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("-run %s matches no standard package that has tests", s.run)
	}
	return paths, nil
}

// all tests all packages and returns their rows, in the order of `go list`.
func (s *settings) all(ctx context.Context, progress io.Writer) ([]row, error) {
	paths, err := s.packages(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(paths))
	var done int
	var mu sync.Mutex // of done and progress
	err = batch.Each(ctx, len(paths), s.parallel, func(ctx context.Context, i int) error {
		started := time.Now()
		rows[i] = s.test(ctx, paths[i])
		mu.Lock()
		defer mu.Unlock()
		if done++; ctx.Err() == nil {
			fmt.Fprintf(progress, "%3d/%d %4.0fs  %s\n", done, len(paths), time.Since(started).Seconds(), strings.TrimRight(rows[i].String(), " "))
		}
		return nil
	})
	if err != nil {
		return nil, errors.New("interrupted; no table was written")
	}
	return rows, nil
}

// logName is the name of the file with what a package's tests printed.
func logName(pkg string, run int) string {
	return fmt.Sprintf("%s.%d.log", strings.ReplaceAll(pkg, "/", "_"), run)
}

// machine is what the table's head says of the machines.
func (s settings) machine() string {
	return fmt.Sprintf("linux/amd64 on one emulated processor, %d MiB, -short -timeout %v", s.memoryMiB, s.timeout)
}

// Stdtable runs the tests of Go's standard packages on the kernel, each package on a
// machine of its own, and makes a table of how they went: qemu/std.txt in the
// repository. It is what `make test-std` runs; -h says more.
//
//	main.go     the command, and one package, until it passes or what fails is known
//	reasons.go  why a test cannot pass on this machine
//	table.go    the table and its last line, written and read
//
// A package is tested by the command `zf test`, as a user would: a package that the
// table says passes, passes by hand too. Context: the host.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
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
type settings struct{ batch.TestFlags }

func main() { batch.Main("stdtable", command) }

// command runs with the given arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := settings{batch.TestFlags{Timeout: 10 * time.Minute, MemoryMiB: 1024}}
	fs := flag.NewFlagSet("stdtable", flag.ContinueOnError)
	err := s.Parse(fs, args, usageText, stdout, func() error { return nil })
	if err != nil {
		return err
	}
	version, err := batch.Output(ctx, "", nil, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	t := newTable(strings.TrimSpace(version), s)
	return s.Make(ctx, t, false, stdout, func() error { return s.all(ctx, t, stderr) })
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
		case p.HasTests && s.Run.MatchString(p.ImportPath):
			paths = append(paths, p.ImportPath)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("-run %s matches no standard package that has tests", s.Run)
	}
	return paths, nil
}

// all tests all packages. With a file, the table is written to it after each.
func (s *settings) all(ctx context.Context, t *table, progress io.Writer) error {
	paths, err := s.packages(ctx)
	if err != nil {
		return err
	}
	if s.Run.String() == "" { // what there is no more
		maps.DeleteFunc(t.rows, func(pkg, _ string) bool { return !slices.Contains(paths, pkg) })
	}
	if s.Resume {
		paths = slices.DeleteFunc(paths, func(pkg string) bool { return t.rows[pkg] != "" })
	}
	done := 0
	var mu sync.Mutex // of done, t and progress
	return batch.Each(ctx, len(paths), s.Parallel, func(ctx context.Context, i int) error {
		started := time.Now()
		r, err := s.test(ctx, paths[i])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		t.rows[r.pkg] = r.String()
		done++
		fmt.Fprintf(progress, "%3d/%d %4.0fs  %s\n", done, len(paths), time.Since(started).Seconds(), r)
		return s.Write(t)
	})
}

// maxRuns is how often a package is run, each time without what has failed before: a
// test that ends the whole program hides those after it.
const maxRuns = 8

// The exit statuses of `zf test` (zf help test).
const (
	zfOK    = 0
	zfBuild = 2
)

// test tests one package: as it is, and as long as tests fail without those.
func (s *settings) test(ctx context.Context, pkg string) (row, error) {
	r := row{pkg: pkg}
	for run := 1; ; run++ {
		flags := []string{"-short", "-m", fmt.Sprint(s.MemoryMiB), "-timeout", s.Timeout.String()}
		if len(r.exceptions) > 0 {
			var without []string
			for _, e := range r.exceptions {
				without = append(without, regexp.QuoteMeta(e.test))
			}
			// All others, said in so many words: os/exec wants all of its tests to run,
			// unless some are chosen.
			flags = append(flags, "-run", ".", "-skip", "^("+strings.Join(without, "|")+")$")
		}
		o, err := s.Test(ctx, s.ZF, "", fmt.Sprintf("%d.log", run), pkg, nil, flags...)
		if err != nil {
			return r, err
		}
		r.passed, r.skipped = o.Count("pass"), o.Count("skip")
		failed := o.Failed()
		switch {
		case o.Status == zfOK:
			r.why = firstUnknown(r.exceptions)
			r.pass = r.why == ""
			return r, nil
		case o.Status == zfBuild:
			r.why = "zf test: " + strings.TrimSpace(append(o.Lines[""], "nothing was printed")[0])
			return r, nil
		case len(failed) == 0 || run == maxRuns:
			if r.why = firstUnknown(r.exceptions); r.why == "" {
				r.why = o.End()
			}
			return r, nil
		}
		for _, name := range failed {
			lines := o.Lines[name]
			r.exceptions = append(r.exceptions, exception{name, reason(pkg, name, lines), batch.Said(lines)})
		}
	}
}

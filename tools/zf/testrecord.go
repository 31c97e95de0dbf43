package main

// `zf test -record-failures`: the tests run again and again, each time on a machine that is
// recorded and has another seed. What has passed is thrown away; of what has failed the
// recording stays.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/machine/gotest"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// recordFailures is what the command line says of -record-failures.
type recordFailures struct {
	on    bool
	keep  int
	said  bool // -record-keep
	chaos chaosFlags
	last  map[string]int // how many packages have this last name
}

// names counts the packages' last names.
func (r *recordFailures) names(pkgs []image.TestPackage) {
	r.last = map[string]int{}
	for i := range pkgs {
		r.last[path.Base(pkgs[i].ImportPath)]++
	}
}

// name is what the recordings of a package are called: its last name, or its whole path, where
// that is another's, too.
func (r *recordFailures) name(importPath string) string {
	if base := path.Base(importPath); r.last[base] < 2 {
		return base
	}
	return strings.ReplaceAll(importPath, "/", ".")
}

// keepMost is how many recordings stay if nothing else is said: each has the image in it.
const keepMost = 20

// flags adds the flags.
func (r *recordFailures) flags(fs *flag.FlagSet) {
	r.keep = keepMost
	addFlags(fs, []option{
		{&r.on, "record-failures",
			"run the tests -count times, each time on a machine that is recorded, and\nkeep the recordings of the runs that fail, for zf replay and zf why, as\nPKG.SEED.zfr in -outputdir, or PKG.SEED-2.zfr where that is there. Each\nrun has another seed, from which come random numbers and how late timers\nare: the same seed is the same run. One CPU; -failfast ends it with the\nfirst failure, -p N has N machines"},
		{func(s string) (err error) {
			r.said = true
			if r.keep, err = strconv.Atoi(s); err != nil {
				return errors.New("want a number")
			}
			return nil
		}, "record-keep",
			fmt.Sprintf("keep `N` of these recordings at most, and count the others\n(default %d)",
				keepMost)},
	})
	r.chaos.flags(fs, "-record-failures",
		"of the first run,\nthe next one has the next number (default 1)")
}

// settleRecord returns what does not go with -record-failures, if anything does not.
func (f *testFlags) settleRecord() error {
	r, g := &f.failures, &f.goTest
	if !r.on {
		switch {
		case r.chaos.on:
			return errors.New(
				"-chaos is for runs that are recorded, so that they can be looked at: add -record-failures")
		case r.chaos.said:
			return errors.New("-seed is for -record-failures")
		case r.said:
			return errors.New("-record-keep is for -record-failures")
		}
		return nil
	}
	if !r.chaos.said {
		r.chaos.seed = 1
	}
	not := func(flag, why string) error {
		return fmt.Errorf("-%s does not go with -record-failures: %s", flag, why)
	}
	switch {
	case g.Number("count", 1) < 1:
		return fmt.Errorf("-count %s is no run", g.Value("count"))
	case r.keep < 1:
		return fmt.Errorf("-record-keep %d is too few; 1 keeps the first", r.keep)
	case g.On("c"):
		return not("c", "it runs nothing")
	case g.On("json"):
		return not("json", "events are of one run")
	case g.Given("bench"):
		return not("bench", "what would be measured is the recording")
	case g.Cover():
		return not("cover", "a profile is of one run")
	case len(g.Files()) > 0:
		return not(g.Files()[0], "a profile is of one run")
	case g.On("artifacts"):
		return not("artifacts", "they would be of all runs; what a recording was about is in it")
	case f.records.dir != "":
		return not("records", "those of all runs would have the same names")
	case f.flight.any():
		return errors.New(
			"-cpuprofile, -memprofile, -handles, -probe and -watch do not go with -record-failures: ask the recording")
	}
	f.noMounts, f.live = true, true
	// With the network of this host, time must go as it does there.
	f.qemu.Icount = f.qemu.Net == ""
	return f.wrongRecord("-record-failures", &f.files)
}

// again returns a machine like m that has not run.
func (m *machine) again() *machine {
	c := *m
	c.records = &records{dir: m.records.dir, takers: m.records.takers}
	c.options = slices.Clip(m.options)
	return &c
}

// A series is the runs of one package's tests.
type series struct {
	*packageTest
	of int    // runs
	to string // where the recordings go: what is before the seed

	mu     sync.Mutex
	begun  int // runs
	done   int // runs that have ended by themselves
	failed int
	kept   []string // recordings
	died   bool     // the first one ended in a trace
	code   int
	over   bool   // no other run is to begin
	last   []byte // what the latest has said
}

// repeat runs the tests of a package as often as it is wanted, and returns the exit status.
func (t *packageTest) repeat(ctx context.Context, m *machine, sym *symbol.File) int {
	name := t.failures.name(t.pkg.ImportPath)
	s := &series{packageTest: t, of: t.goTest.Number("count", 1), to: filepath.Join(t.outputDir, name)}
	started := time.Now()
	var workers sync.WaitGroup
	for range min(s.of, t.machines()) {
		workers.Go(func() {
			for s.next(ctx, m, sym) {
			}
		})
	}
	workers.Wait()
	passed := s.code == exitOK && ctx.Err() == nil
	line := gotest.Line(t.pkg.ImportPath, passed, time.Since(started), false, s.last)
	fmt.Fprintf(t.stdout, "%s\t[%s]\n", line, s.result())
	s.sayNext(ctx)
	return s.code
}

// machines is how many run at a time.
func (t *packageTest) machines() int {
	return max(1, t.goTest.Number("p", runtime.GOMAXPROCS(0)))
}

// result says how many runs have failed.
func (s *series) result() string {
	runs := count(s.done, "run")
	if s.failed > 0 {
		return fmt.Sprintf("%d of %s failed", s.failed, runs)
	}
	return runs
}

// sayNext says what can be done with the recordings.
func (s *series) sayNext(ctx context.Context) {
	if ctx.Err() != nil {
		s.interrupted = true
		s.say("interrupted after %d of %s", s.done, count(s.of, "run"))
	}
	if len(s.kept) == 0 {
		return
	}
	first := s.kept[0]
	why := "zf why " + first + " tells what the failure came from"
	if s.died {
		why = "zf why " + first + " tells what it died of"
	}
	more := ""
	if n := len(s.kept); n > 1 {
		more = fmt.Sprintf(" (%d in all)", n)
	}
	s.say("zf replay %s does it again, %s%s", first, why, more)
}

// path returns where the recording of a run with a seed goes. Those of an earlier zf test,
// perhaps of another build, stay.
func (s *series) path(seed uint64) string {
	path := fmt.Sprintf("%s.%d.zfr", s.to, seed)
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = fmt.Sprintf("%s.%d-%d.zfr", s.to, seed, n)
	}
}

// next does the next run, if there is to be one.
func (s *series) next(ctx context.Context, m *machine, sym *symbol.File) (more bool) {
	s.mu.Lock()
	if s.over || s.begun == s.of || ctx.Err() != nil {
		s.mu.Unlock()
		return false
	}
	seed := s.failures.chaos.seed + uint64(s.begun)
	s.begun++
	s.mu.Unlock()

	c := m.again()
	s.failures.chaos.add(c, seed)
	final := s.path(seed)
	c.record, c.recordBy = final+".part", "-outputdir"
	var out bytes.Buffer
	c.stdout, c.stderr = &out, &out
	code := c.boot(ctx, sym) // one after the other, as run has them
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took(ctx, seed, code, out.Bytes(), c.record, final)
	return true
}

// took says what has come of a run, and keeps its recording or removes it. s.mu is held.
func (s *series) took(ctx context.Context, seed uint64, code int, output []byte, part,
	final string) {
	died := code == exitTrace
	over := ctx.Err() != nil && code == exitInterrupt
	if code > exitMachine && !over { // the test binary's own status
		code = exitTrace
	}
	s.last = output
	_, err := os.Stat(part)
	switch {
	case code == exitOK:
		s.done++
		if s.goTest.ShowsPass() {
			s.stdout.Write(output)
			fmt.Fprintf(s.stdout, "zf test: run %d, seed %d, has passed\n", s.done, seed)
		}
		os.Remove(part)
		return
	case over:
		os.Remove(part)
		return // it has been interrupted, and nobody knows what it would have become
	case code == exitUsage || err != nil:
		// No machine, or no recording: the next run would not have one either.
		s.code, s.over = max(s.code, code, exitUsage), true
		s.stderr.Write(output)
		os.Remove(part)
		return
	}
	s.done++
	s.failed++
	s.code = max(s.code, code)
	s.over = s.over || s.goTest.On("failfast")
	what := fmt.Sprintf("run %d, seed %d, has failed", s.done, seed)
	if len(s.kept) >= s.failures.keep {
		os.Remove(part)
		fmt.Fprintf(s.stdout, "zf test: %s; -record-keep %d recordings are there already\n", what,
			s.failures.keep)
		return
	}
	s.stdout.Write(output)
	if len(output) > 0 && output[len(output)-1] != '\n' {
		fmt.Fprintln(s.stdout)
	}
	if err := os.Rename(part, final); err != nil {
		s.code, s.over = max(s.code, exitUsage), true
		s.say("-outputdir: %v", err)
		return
	}
	if len(s.kept) == 0 {
		s.died = died
	}
	s.kept = append(s.kept, shorter(final))
	fmt.Fprintf(s.stdout, "zf test: %s; recorded in %s\n", what, shorter(final))
}

// shorter returns the path from the current folder, if that is below it.
func shorter(path string) string {
	dir, _ := os.Getwd() // without it, paths are absolute
	return source.Relative(dir, path)
}

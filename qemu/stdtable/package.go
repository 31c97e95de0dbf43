package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxRuns is how often a package is run, each time without what has failed before: a
// test that ends the whole program hides those behind it.
const maxRuns = 8

// The exit statuses of `zf test` (zf help test).
const (
	zfOK     = 0
	zfFailed = 1
	zfBuild  = 2
)

// test tests one package: as it is, and as long as tests fail without those.
func (s *settings) test(ctx context.Context, pkg string) row {
	r := row{pkg: pkg}
	for run := 1; ; run++ {
		out, status := s.zfTest(ctx, pkg, r.excepted())
		if s.logs != "" {
			if err := os.WriteFile(filepath.Join(s.logs, logName(pkg, run)), out, 0o644); err != nil {
				return row{pkg: pkg, why: err.Error()}
			}
		}
		o := parseOutput(string(out))
		r.passed, r.skipped = o.passed, o.skipped
		if status == zfOK {
			r.pass = !slices.ContainsFunc(r.exceptions, func(e exception) bool { return e.reason == "" })
			if !r.pass {
				r.why = firstUnknown(r.exceptions)
			}
			return r
		}
		if status == zfBuild {
			r.why = "zf test: " + firstLine(string(out))
			return r
		}
		if len(o.failed) == 0 || run == maxRuns {
			if r.why = firstUnknown(r.exceptions); r.why == "" {
				r.why = o.end
			}
			return r
		}
		for _, f := range o.failed {
			r.exceptions = append(r.exceptions, exception{test: f.name, reason: reason(pkg, f), said: f.said()})
		}
	}
}

// zfTest runs `zf test` without some tests, and returns what it printed and its exit
// status.
func (s *settings) zfTest(ctx context.Context, pkg string, without []string) (out []byte, status int) {
	args := []string{"test", "-v", "-count=1", "-short", "-m", fmt.Sprint(s.memoryMiB), "-timeout", s.timeout.String()}
	if len(without) > 0 {
		for i, name := range without {
			without[i] = regexp.QuoteMeta(name)
		}
		// All others, said in so many words: os/exec wants all of its tests to run,
		// unless some are chosen.
		args = append(args, "-run", ".", "-skip", "^("+strings.Join(without, "|")+")$")
	}
	cmd := exec.CommandContext(ctx, s.zf, append(args, pkg)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its machine
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return b.Bytes(), max(exit.ExitCode(), zfFailed)
	case err != nil:
		return []byte(err.Error()), zfBuild
	}
	return b.Bytes(), zfOK
}

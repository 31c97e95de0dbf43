package main

// `go test -json` reports each test by name, with its time and its output.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// results are what has passed and what has failed so far.
type results struct {
	out    io.Writer
	passed int
	failed []failed
	slow   []failed // every top-level test, with its time
	ran    map[string]bool
}

// A failed is a test, or what else can fail, with the time that it took.
type failed struct {
	name string
	took time.Duration
}

func (r *results) failure(name string, took time.Duration, output string) {
	r.failed = append(r.failed, failed{name, took})
	fmt.Fprintf(r.out, "FAIL\t%s\t%.1fs\n%s", name, took.Seconds(), output)
}

// An event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	// of a build's output, and of a package that it kept from running
	ImportPath, FailedBuild string
	Elapsed                 float64 // in s
}

func (e event) took() time.Duration { return time.Duration(e.Elapsed * float64(time.Second)) }

// name is what the results call the test: the folder in the module, and its name.
func (e event) name() string {
	folder := e.Package
	if i := strings.Index(folder, modulePath); i == 0 {
		folder = "." + folder[len(modulePath):]
	}
	return strings.TrimSpace(folder + " " + e.Test)
}

const modulePath = "github.com/zeroframe/zeroframe"

// goTest runs `go test` with the given arguments. Tests boot images that they build from
// the source, which Go's test cache does not see, hence -count=1. `make test` has go vet look at
// all of it, and once is enough.
func (r *results) goTest(ctx context.Context, env []string, args ...string) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-vet=off",
		"-timeout=60m"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	failures := len(r.failed)
	if err == nil {
		r.read(stdout)
		err = cmd.Wait()
	}
	if err != nil && len(r.failed) == failures {
		r.failure("go test", 0, fmt.Sprintf("%s%v\n", &stderr, err))
	}
}

// read counts what the events say. A test's output is kept until the test has ended, and
// shown if it has failed.
func (r *results) read(events io.Reader) {
	if r.ran == nil {
		r.ran = map[string]bool{}
	}
	output := map[string]*strings.Builder{} // by test, by package, or by import path of a build
	parents := map[string]bool{}
	broken := map[string]bool{} // packages with a test that has failed
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.event(e, output, parents, broken)
		} else if len(bytes.TrimSpace(line)) > 0 {
			r.out.Write(line)
		}
		if err != nil {
			return
		}
	}
}

func (r *results) event(e event, output map[string]*strings.Builder, parents,
	broken map[string]bool) {
	name := e.name()
	if e.Package == "" {
		name = e.ImportPath
	}
	switch e.Action {
	case "run":
		for i := len(name) - 1; name[i] != ' '; i-- {
			if name[i] == '/' {
				parents[name[:i]] = true
			}
		}
	case "output", "build-output":
		b := output[name]
		if b == nil {
			b = new(strings.Builder)
			output[name] = b
		}
		b.WriteString(e.Output)
	case "pass", "fail", "skip":
		text := ""
		if b := output[name]; b != nil {
			text = b.String()
			delete(output, name)
		}
		r.ran[name] = true
		if e.Test == "" {
			r.endOfPackage(e, text, output, broken)
			return
		}
		if !strings.Contains(e.Test, "/") {
			r.slow = append(r.slow, failed{name, e.took()})
		}
		switch {
		case e.Action == "skip":
			r.failure(name, e.took(), text+"A test must not skip itself.\n")
		case e.Action == "fail" && parents[name] && !strings.Contains(text, "_test.go:"):
			// It failed because a subtest did, and has nothing to add.
		case e.Action == "fail":
			r.failure(name, e.took(), text)
		case !parents[name]:
			r.passed++
		}
		if e.Action != "pass" {
			broken[e.Package] = true
		}
	}
}

// endOfPackage prints the package's line. A package can fail without a failed test: it
// does not build, or its process died.
func (r *results) endOfPackage(e event, text string, output map[string]*strings.Builder,
	broken map[string]bool) {
	if e.Action != "fail" {
		if e.Action == "pass" {
			fmt.Fprintf(r.out, "ok  \t%s\t%.1fs\n", e.name(), e.Elapsed)
		}
		return
	}
	if broken[e.Package] {
		fmt.Fprintf(r.out, "FAIL\t%s\t%.1fs\n", e.name(), e.Elapsed)
		return
	}
	// The tests that were running have no end.
	for name, b := range output {
		if strings.HasPrefix(name, e.name()+" ") || e.FailedBuild != "" && name == e.FailedBuild {
			text += b.String()
			delete(output, name)
		}
	}
	r.failure(e.name(), e.took(), text)
}

// missing fails each test of the list that did not run.
func (r *results) missing(list longList) {
	for _, t := range list {
		if name := t.pkg + " " + t.name; !r.ran[name] {
			r.failure(name, 0, "long.txt names it, and no such test ran.\n")
		}
	}
}

// twice fails each test that ran although the list names it: Go has put a number behind the
// name, since another subtest has the same one.
func (r *results) twice(list longList) {
	for _, t := range list {
		if name := t.pkg + " " + t.name + "#01"; r.ran[name] {
			r.failure(name, 0, "long.txt names a test whose name another has, too.\n")
		}
	}
}

// end prints the slowest tests, what has failed and the counts, and returns the exit
// status.
func (r *results) end() int {
	slices.SortFunc(r.slow, func(a, b failed) int { return int(b.took - a.took) })
	fmt.Fprintln(r.out, "\nThe slowest tests:")
	for _, t := range r.slow[:min(len(r.slow), 10)] {
		fmt.Fprintf(r.out, "%7.1fs  %s\n", t.took.Seconds(), t.name)
	}
	if len(r.failed) > 0 {
		fmt.Fprintln(r.out, "\nFailed:")
	}
	for _, t := range r.failed {
		fmt.Fprintf(r.out, "--- FAIL: %s (%.2fs)\n", t.name, t.took.Seconds())
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed\n", r.passed, len(r.failed))
	if len(r.failed) > 0 {
		return 1
	}
	return 0
}

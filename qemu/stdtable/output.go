package main

// A test binary with -test.v says which test each line is of (cmd/test2json reads the
// same): "=== RUN", "=== CONT" and "=== NAME" begin a test's lines, "--- FAIL" and its
// like end the test. A failing program may end in the middle of that, with a panic
// or, when its time is over, with a list of what was running.

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// output is what a run printed.
type output struct {
	passed, skipped int // tests, examples and fuzz targets, without subtests
	failed          []failure
	end             string // what the program said when it ended, if no test failed
}

// failure is a test that failed or did not end.
type failure struct {
	name  string
	lines []string // that it and its subtests printed
	slow  bool     // it ran when the time was over
}

var (
	begins   = regexp.MustCompile(`^=== (RUN|CONT|NAME|PAUSE) +(\S*)`)
	ends     = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+) \(`)
	subEnds  = regexp.MustCompile(`^ +--- (PASS|FAIL|SKIP): \S+/`)
	stillRun = regexp.MustCompile(`^\t+(\S+) \([0-9.hms]+\)$`)
)

// topLevel is the test that a subtest belongs to.
func topLevel(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// parseOutput reads what `zf test -v` printed.
func parseOutput(text string) output {
	var o output
	lines := make(map[string][]string) // of each test
	open := make(map[string]bool)      // tests that have begun: whether they are paused
	var failed, slow []string
	current, listing := "", false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "")) {
		line = strings.TrimSuffix(line, "\n")
		if m := begins.FindStringSubmatch(line); m != nil {
			if current = topLevel(m[2]); current != "" && !strings.Contains(m[2], "/") && m[1] != "NAME" {
				open[current] = m[1] == "PAUSE"
			}
			continue
		}
		if m := ends.FindStringSubmatch(line); m != nil {
			delete(open, m[2])
			switch m[1] {
			case "PASS":
				o.passed++
			case "SKIP":
				o.skipped++
			case "FAIL":
				failed = append(failed, m[2])
			}
			continue
		}
		switch {
		case batch.Overtime(line):
			listing = true
		case line == "":
			listing = false
		}
		if m := stillRun.FindStringSubmatch(line); m != nil && listing {
			if name := topLevel(m[1]); !slices.Contains(slow, name) {
				slow = append(slow, name)
			}
		}
		if strings.TrimSpace(line) != "" && !subEnds.MatchString(line) {
			lines[current] = append(lines[current], line)
		}
	}
	for _, name := range slow {
		o.failed = append(o.failed, failure{name, lines[name], true})
	}
	for _, name := range failed {
		if !slices.Contains(slow, name) {
			o.failed = append(o.failed, failure{name, lines[name], false})
		}
	}
	// Without any of that, the program ended in a test.
	if len(o.failed) == 0 {
		if paused, ok := open[current]; ok && !paused {
			o.failed = append(o.failed, failure{current, lines[current], false})
		}
	}
	o.end = batch.End(lines[current])
	return o
}

// said is the first thing that a failed test said, without its place.
func (f failure) said() string { return batch.Said(f.lines) }

// firstLine returns the first line of a text that has anything in it.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "nothing was printed"
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// result is what `go test -json` or `zf test -json` says of a package.
type result struct {
	built  bool // a test binary has run
	passed bool
	took   time.Duration
	order  []string            // of the tests that have begun
	tests  map[string]string   // by test, with subtests: pass, fail or skip
	lines  map[string][]string // by test without subtests what it printed, "" for none
	stream map[string][]string // of readStream
}

// topLevel is the test that a subtest belongs to.
func topLevel(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// readEvents reads the events. What is no event was printed by the command, as standard error
// was.
func readEvents(out, stderr []byte) *result {
	r := &result{tests: make(map[string]string), lines: make(map[string][]string), stream: readStream(out)}
	print := func(test, line string) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" {
			r.lines[test] = append(r.lines[test], line)
		}
	}
	for line := range bytes.Lines(out) {
		var e struct {
			Action, Test, Output, FailedBuild string
			Elapsed                           float64 // in s
		}
		if json.Unmarshal(line, &e) != nil {
			print("", string(line))
			continue
		}
		switch e.Action {
		case "build-output":
			print("", e.Output)
		case "output":
			words := strings.TrimLeft(e.Output, " ")
			if e.Test == "" || !strings.HasPrefix(words, "=== ") && !strings.HasPrefix(words, "--- ") {
				print(topLevel(e.Test), e.Output)
			}
		case "run":
			r.order = append(r.order, e.Test)
		case "pass", "fail", "skip":
			if e.Test != "" {
				r.tests[e.Test] = e.Action
				continue
			}
			r.passed, r.took = e.Action != "fail", time.Duration(e.Elapsed*float64(time.Second))
			r.built = e.FailedBuild == "" && !slices.ContainsFunc(r.lines[""], func(s string) bool {
				return strings.HasPrefix(s, "FAIL") && (strings.HasSuffix(s, "[build failed]") || strings.HasSuffix(s, "[setup failed]"))
			})
		}
	}
	for line := range strings.Lines(string(stderr)) {
		print("", line)
	}
	return r
}

// compare fills in how the kernel does beside the host.
func (r *row) compare(host, guest *result) {
	r.host, r.kernel, r.linux = host.took, guest.took, !host.passed
	differs := make(map[string]bool) // tests with a subtest that does not pass
	for name, action := range host.tests {
		if on := guest.tests[name]; action == "pass" && (on == "fail" || on == "skip") {
			differs[topLevel(name)] = true
		}
	}
	var only []string
	for _, name := range host.order {
		switch {
		case name != topLevel(name) || host.tests[name] != "pass":
		case guest.tests[name] == "pass" && !differs[name]:
			r.both++
		default:
			only = append(only, name)
		}
	}
	r.only = len(only)
	if r.only == 0 && host.passed && !guest.passed {
		r.only = 1
		r.notes = append(r.notes, "only on Linux: "+end(guest))
		r.exec = slices.ContainsFunc(guest.lines[""], batch.NeedsProgram)
		return
	}
	if r.only > 0 {
		// What failed says more than what was not run any more.
		slices.SortStableFunc(only, func(a, b string) int { return rank(guest, a) - rank(guest, b) })
		note := "only on Linux: " + only[0] + ": " + said(guest, only[0])
		if r.only > 1 {
			note = fmt.Sprintf("%s (and %d more)", note, r.only-1)
		}
		r.notes = append(r.notes, note)
		r.exec = !slices.ContainsFunc(only, func(name string) bool { return !slices.ContainsFunc(guest.lines[name], batch.NeedsProgram) })
		return
	}
	if host.passed && guest.passed {
		if d := differences(host.stream, guest.stream); d != "" {
			r.notes = append(r.notes, eventsNote+d)
		}
	}
	if !host.passed {
		note := "Linux: " + end(host)
		for _, name := range host.order {
			if name == topLevel(name) && host.tests[name] == "fail" {
				note = "Linux: " + name + ": " + batch.Said(host.lines[name])
				break
			}
		}
		r.notes = append(r.notes, note)
	}
}

// rank is 0 for a test that failed, 1 for one that began, 2 for one that skipped, 3 for the rest.
func rank(r *result, test string) int {
	switch {
	case r.tests[test] == "fail":
		return 0
	case r.tests[test] == "skip":
		return 2
	case slices.Contains(r.order, test):
		return 1
	}
	return 3
}

// said is why a test does not pass.
func said(r *result, test string) string {
	switch rank(r, test) {
	case 2:
		return "skipped: " + batch.Said(r.lines[test])
	case 3:
		return "not run: " + end(r)
	}
	if len(r.lines[test]) == 0 {
		return end(r)
	}
	return batch.Said(r.lines[test])
}

// end is why a package does not pass, if no test has failed.
func end(r *result) string {
	lines := slices.DeleteFunc(slices.Clone(r.lines[""]), func(s string) bool { return strings.HasPrefix(s, "FAIL") || strings.HasPrefix(s, "exit status") })
	return strings.TrimSpace(batch.End(lines))
}

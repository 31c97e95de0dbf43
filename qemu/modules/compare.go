package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// compare fills in how the kernel does beside the host.
func (r *row) compare(host, guest *batch.Tests) {
	r.host, r.kernel, r.linux = host.Seconds, guest.Seconds, !host.Passed
	differs := make(map[string]bool) // tests with a subtest that does not pass
	for name, action := range host.Actions {
		if on := guest.Actions[name]; action == "pass" && (on == "fail" || on == "skip") {
			differs[batch.TopLevel(name)] = true
		}
	}
	var only []string
	failed := "" // the first test that fails on Linux
	for _, name := range host.Begun {
		switch {
		case name != batch.TopLevel(name):
		case host.Actions[name] != "pass":
			if host.Actions[name] == "fail" && failed == "" {
				failed = name
			}
		case guest.Actions[name] == "pass" && !differs[name]:
			r.both++
		default:
			only = append(only, name)
		}
	}
	r.only = len(only)
	switch {
	case r.only > 0:
		// What failed says more than what was not run any more.
		slices.SortStableFunc(only, func(a, b string) int { return rank(guest, a) - rank(guest, b) })
		r.note("only on Linux: "+only[0]+": "+said(guest, only[0]), r.only-1)
		r.exec = !slices.ContainsFunc(only,
			func(name string) bool { return !slices.ContainsFunc(guest.Lines[name], batch.NeedsProgram) })
	case host.Passed && !guest.Passed:
		r.only = 1
		r.note("only on Linux: "+guest.End(), 0)
		r.exec = slices.ContainsFunc(guest.Lines[""], batch.NeedsProgram)
	case host.Passed:
		if first, more := differences(readStream(host.Output), readStream(guest.Output)); first != "" {
			r.note(eventsNote+first, more)
		}
	case failed != "":
		r.note("Linux: "+failed+": "+batch.Said(host.Lines[failed]), 0)
	default:
		r.note("Linux: "+host.End(), 0)
	}
}

// note adds what is to be said of a row, and of how many more tests it could be.
func (r *row) note(text string, more int) {
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	r.notes = append(r.notes, text)
}

// rank is 0 for a test that failed, 1 for one that began, 2 for one that skipped, 3 for the rest.
func rank(t *batch.Tests, test string) int {
	switch {
	case t.Actions[test] == "fail":
		return 0
	case t.Actions[test] == "skip":
		return 2
	case slices.Contains(t.Begun, test):
		return 1
	}
	return 3
}

// said is why a test does not pass.
func said(t *batch.Tests, test string) string {
	switch n := rank(t, test); {
	case n == 2:
		return "skipped: " + batch.Said(t.Lines[test])
	case n == 3:
		return "not run: " + t.End()
	case len(t.Lines[test]) == 0:
		return t.End()
	}
	return batch.Said(t.Lines[test])
}

// What the events of `go test -json` and `zf test -json` say must be the same for a package
// that does the same on both sides: each test's actions, and its output between them. The
// order of the tests is that of a schedule, where they are parallel, and is not compared.

// changing are the parts of output that are others in each run on Linux, too.
var changing = []struct {
	what string
	re   *regexp.Regexp
}{
	{"TIME",
		regexp.MustCompile(
			`\b\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( ?Z| ?[+-]\d\d:?\d\d( \w+)?)?( m=[+-][\d.]+)?`)},
	{"TIME", regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`)},
	{"TIME", regexp.MustCompile(`\b((\d+(\.\d+)?)(h|m|ns|µs|ms|s))+\b`)},
	{"RATE", regexp.MustCompile(`\b\d+(\.\d+)? ?[kKMG]?i?B/s`)},
}

// address is one in memory, which may stand in the name of a test, too.
var address = regexp.MustCompile(`0x[0-9a-f]{6,}|\bc0[0-9a-f]{8}\b`)

// unchanging returns an output without what changes in each run.
func unchanging(s string) string {
	for _, c := range changing {
		s = c.re.ReplaceAllString(s, c.what)
	}
	return strings.TrimRight(s, "\r\n")
}

// readStream returns the lines of each test, "" for the package: what it has printed, and its
// actions, which begin with "-".
func readStream(out []byte) map[string][]string {
	s := make(map[string][]string)
	part := make(map[string]string) // of a line, by test
	for line := range bytes.Lines(address.ReplaceAll(out, []byte("ADDRESS"))) {
		var e batch.Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		part[e.Test] += e.Output
		action := e.Action != "output"
		if text := part[e.Test]; strings.HasSuffix(text, "\n") || action && text != "" {
			s[e.Test], part[e.Test] = append(s[e.Test], unchanging(text)), ""
		}
		if action {
			s[e.Test] = append(s[e.Test], "- "+e.Action)
		}
	}
	return s
}

// differences says where the events of both sides differ: the first line, and how many tests
// there are besides; "" if nowhere.
func differences(host, guest map[string][]string) (first string, more int) {
	all := maps.Clone(host)
	maps.Copy(all, guest)
	for _, test := range slices.Sorted(maps.Keys(all)) {
		h, g := host[test], guest[test]
		if slices.Equal(h, g) {
			continue
		}
		if first != "" {
			more++
			continue
		}
		i := 0
		for i < min(len(h), len(g)) && h[i] == g[i] {
			i++
		}
		line := func(lines []string) string {
			if i < len(lines) {
				return fmt.Sprintf("%q", lines[i])
			}
			return "nothing"
		}
		if first = line(g) + " for " + line(h); test != "" {
			first = test + ": " + first
		}
	}
	return first, more
}

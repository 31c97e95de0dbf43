package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What the events of `go test -json` and `zf test -json` say must be the same for a package
// that does the same on both sides: each test's actions, and its output between them. The
// order of the tests is that of a schedule, where they are parallel, and is not compared.

// changing are the parts of output that are others in each run on Linux, too.
var changing = []struct {
	what string
	re   *regexp.Regexp
}{
	{"TIME", regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( ?Z| ?[+-]\d\d:?\d\d( \w+)?)?( m=[+-][\d.]+)?`)},
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
		var e struct{ Action, Test, Output string }
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
func differences(host, guest map[string][]string) string {
	first, n := "", 0
	all := maps.Clone(host)
	maps.Copy(all, guest)
	for _, test := range slices.Sorted(maps.Keys(all)) {
		h, g := host[test], guest[test]
		if slices.Equal(h, g) {
			continue
		}
		if n++; n > 1 {
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
	if n > 1 {
		first += fmt.Sprintf(" (and %d more)", n-1)
	}
	return first
}

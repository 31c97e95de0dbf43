package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// row is what is known of one package.
type row struct {
	pkg             string
	pass            bool // but for the exceptions
	passed, skipped int  // tests of the last run
	exceptions      []exception
	why             string // if it does not pass
}

// exception is a test that the last run was without.
type exception struct {
	test   string
	reason string // "" if it is not known
	said   string
}

// firstUnknown says of the tests that failed without a known reason which is the first,
// and how many there are; "" if there are none.
func firstUnknown(exceptions []exception) string {
	why, n := "", 0
	for _, e := range exceptions {
		if e.reason != "" {
			continue
		}
		if n++; n == 1 {
			why = e.test + ": " + e.said
		}
	}
	if n > 1 {
		why += fmt.Sprintf(" (and %d more)", n-1)
	}
	return why
}

// maxWhy is how much of a reason the table shows, in characters.
const maxWhy = 160

// String is the row as it is in the table.
func (r row) String() string {
	verdict := "fail"
	if r.pass {
		verdict = "pass"
	}
	var notes []string
	if r.why != "" {
		why := []rune(strings.Join(strings.Fields(r.why), " "))
		if len(why) > maxWhy {
			why = append(why[:maxWhy-3], '.', '.', '.')
		}
		notes = append(notes, string(why))
	}
	byReason := make(map[string][]string)
	for _, e := range r.exceptions {
		byReason[e.reason] = append(byReason[e.reason], e.test)
	}
	delete(byReason, "")
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		notes = append(notes, fmt.Sprintf("except %s: %s", reason,
			strings.Join(slices.Sorted(slices.Values(byReason[reason])), " ")))
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-40s %5d %5d  %s", verdict, r.pkg, r.passed,
		r.skipped, strings.Join(notes, "; ")), " ")
}

// table is the rows, by package, as they are in the file. A table can be brought up to date a
// few packages at a time.
type table struct {
	head string
	rows map[string]string
}

func newTable(version string, s settings) *table {
	return &table{fmt.Sprintf(
		"# The tests of the standard packages of %s, linux/amd64 on one emulated processor, %d MiB, -short -timeout %v.",
		version, s.MemoryMiB, s.Timeout), map[string]string{}}
}

// Head is its first line.
func (t *table) Head() string { return t.head }

// Load takes the rows of a table that was written before.
func (t *table) Load(lines string) error {
	for line := range strings.Lines(lines) {
		if line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "pass" && f[0] != "fail" {
			return fmt.Errorf("%q is no row of a table", line)
		}
		t.rows[f[1]] = strings.TrimSpace(line)
	}
	return nil
}

// excepts are the reasons for which a row leaves tests out.
var excepts = regexp.MustCompile(`except (\w+):`)

// Sum is the table's last line.
func (t *table) Sum() string {
	var whole, part, failed, alone int
	for _, r := range t.rows {
		// Whether it needs a network or a subprocess, and nothing else keeps it from passing.
		reasons := excepts.FindAllStringSubmatch(r, -1)
		elsewhere := len(reasons) > 0 && !slices.ContainsFunc(reasons,
			func(m []string) bool { return m[1] != subprocess && m[1] != network })
		switch {
		case strings.HasPrefix(r, "fail"):
			failed++
			elsewhere = false
		case len(reasons) > 0:
			part++
		default:
			whole++
		}
		if !elsewhere {
			alone++
		}
	}
	return fmt.Sprintf(
		"%d packages: %d pass, %d pass with exceptions, %d fail; of the %d that need no network and no subprocess, %d pass: %.1f %%",
		len(t.rows), whole, part, failed, alone, whole, 100*float64(whole)/float64(max(alone, 1)))
}

// String is the whole table.
func (t *table) String() string {
	lines := []string{t.head,
		"# Made by `make test-std`. verdict, package, tests passed, tests that skipped themselves, why"}
	for _, pkg := range slices.Sorted(maps.Keys(t.rows)) {
		lines = append(lines, t.rows[pkg])
	}
	return strings.Join(append(lines, "# "+t.Sum(), ""), "\n")
}

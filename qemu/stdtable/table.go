package main

import (
	"fmt"
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

// excepted returns the names of the tests that the row leaves out.
func (r *row) excepted() []string {
	var names []string
	for _, e := range r.exceptions {
		names = append(names, e.test)
	}
	return names
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
	var reasons []string
	for _, e := range r.exceptions {
		if e.reason == "" {
			continue
		}
		if !slices.Contains(reasons, e.reason) {
			reasons = append(reasons, e.reason)
		}
		byReason[e.reason] = append(byReason[e.reason], e.test)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		tests := byReason[reason]
		slices.Sort(tests)
		notes = append(notes, fmt.Sprintf("except %s: %s", reason, strings.Join(tests, " ")))
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-40s %5d %5d  %s", verdict, r.pkg, r.passed, r.skipped, strings.Join(notes, "; ")), " ")
}

// elsewhere reports whether the package needs a network or a subprocess, and nothing
// else keeps it from passing.
func (r row) elsewhere() bool {
	if len(r.exceptions) == 0 || !r.pass {
		return false
	}
	for _, e := range r.exceptions {
		if e.reason != subprocess && e.reason != network {
			return false
		}
	}
	return true
}

// summary is the table's last line.
func summary(rows []row) string {
	var whole, part, failed, alone int
	for _, r := range rows {
		if !r.elsewhere() {
			alone++
		}
		switch {
		case !r.pass:
			failed++
		case len(r.exceptions) > 0:
			part++
		default:
			whole++
		}
	}
	percent := 0.0
	if alone > 0 {
		percent = 100 * float64(whole) / float64(alone)
	}
	return fmt.Sprintf("%d packages: %d pass, %d pass with exceptions, %d fail; of the %d that need no network and no subprocess, %d pass: %.1f %%",
		len(rows), whole, part, failed, alone, whole, percent)
}

// formatTable is the whole table.
func formatTable(version string, s settings, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The tests of the standard packages of %s, %s.\n", version, s.machine())
	b.WriteString("# Made by `make test-std`. verdict, package, tests passed, tests that skipped themselves, why\n")
	for _, r := range rows {
		b.WriteString(r.String() + "\n")
	}
	b.WriteString("# " + summary(rows) + "\n")
	return b.String()
}

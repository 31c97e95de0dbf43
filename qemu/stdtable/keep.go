package main

// A table can be brought up to date a few packages at a time: with -run, the rows of
// all others stay as they are in the file.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// keep returns the rows and, with -run, those that the file has of other packages,
// sorted. A file of another Go or other machines is an error.
func (s settings) keep(file, version string, rows []row) ([]row, error) {
	if s.run.String() == "" {
		return rows, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(formatTable(version, s, nil), "\n")
	if was, _, _ := strings.Cut(string(text), "\n"); was != head {
		return nil, fmt.Errorf("%s begins with %q, and not with %q; remove it, or make it without -run", file, was, head)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !slices.ContainsFunc(rows, func(other row) bool { return other.pkg == r.pkg }) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.pkg, b.pkg) })
	return rows, nil
}

// parseRow reads what row.String has written.
func parseRow(line string) (row, error) {
	line = strings.TrimSpace(line)
	f := strings.Fields(line)
	if len(f) < 4 || f[0] != "pass" && f[0] != "fail" {
		return row{}, fmt.Errorf("%q is no row of a table", line)
	}
	r := row{pkg: f[1], pass: f[0] == "pass"}
	var err1, err2 error
	r.passed, err1 = strconv.Atoi(f[2])
	r.skipped, err2 = strconv.Atoi(f[3])
	if err := errors.Join(err1, err2); err != nil {
		return row{}, fmt.Errorf("%q is no row of a table: %w", line, err)
	}
	for _, note := range strings.SplitAfter("; "+strings.Join(f[4:], " "), "; ")[1:] {
		tests, ok := strings.CutPrefix(strings.TrimSuffix(note, "; "), "except ")
		if !ok {
			r.why += note
			continue
		}
		reason, names, _ := strings.Cut(tests, ": ")
		for name := range strings.FieldsSeq(names) {
			r.exceptions = append(r.exceptions, exception{test: name, reason: reason})
		}
	}
	r.why = strings.TrimSuffix(r.why, "; ")
	return r, nil
}

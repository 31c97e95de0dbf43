package batch

import (
	"regexp"
	"slices"
	"strings"
)

// overtime is what a test binary prints when its -test.timeout has run out.
var overtime = regexp.MustCompile(`^panic: test timed out after `)

// Overtime reports whether a line says that the time of the tests is over.
func Overtime(line string) bool { return overtime.MatchString(line) }

// place is the file and line before a test's words.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// Said is the first thing that a failed test has said, without its place, of the lines that
// it printed: of what testify prints, the error. A line that ends in a colon goes on in the next.
func Said(lines []string) string {
	for _, line := range lines {
		if Overtime(line) {
			return line
		}
	}
	for i, line := range lines {
		at := place.FindString(line)
		if at == "" {
			continue
		}
		said := append([]string{line[len(at):]}, lines[i+1:]...)
		for i := range said {
			said[i] = strings.TrimSpace(said[i])
		}
		if len(said) > 1 && said[0] == "" {
			said = said[1:]
		}
		if strings.HasPrefix(said[0], "Error Trace:") {
			isError := func(s string) bool { return strings.HasPrefix(s, "Error:") }
			if e := slices.IndexFunc(said, isError); e > 0 {
				said = said[e:]
				said[0] = strings.TrimSpace(strings.TrimPrefix(said[0], "Error:"))
			}
		}
		if len(said) > 1 && strings.HasSuffix(said[0], ":") {
			return said[0] + " " + said[1]
		}
		return said[0]
	}
	return strings.TrimSpace(End(lines))
}

// telling are the lines that say why a program ended, in this order.
var telling = []string{"panic: ", "fatal error: ", "Panic: ", "zf test: "}

// End finds the line that says why a program ended, of the lines that it printed.
func End(lines []string) string {
	for _, prefix := range telling {
		for _, line := range lines {
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
	}
	if len(lines) > 0 {
		return lines[len(lines)-1]
	}
	return "it ended without a word"
}

// program are the words of the Go packages' own errors for a program that cannot be started.
var program = regexp.MustCompile(
	`fork/exec .*: function not implemented|exec: ".*": executable file not found in \$PATH`)

// NeedsProgram reports whether a line says that another program could not be started, which
// the kernel never does.
func NeedsProgram(line string) bool { return program.MatchString(line) }

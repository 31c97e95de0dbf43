package batch

import (
	"regexp"
	"strings"
)

// overtime is what a test binary prints when its -test.timeout has run out.
var overtime = regexp.MustCompile(`^panic: test timed out after `)

// Overtime reports whether a line says that the time of the tests is over.
func Overtime(line string) bool { return overtime.MatchString(line) }

// place is the file and line before a test's words.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// Said is the first thing that a failed test has said, without its place, of the lines that
// it printed.
func Said(lines []string) string {
	for _, line := range lines {
		if Overtime(line) {
			return line
		}
	}
	for i, line := range lines {
		if at := place.FindString(line); at != "" {
			words := strings.TrimSpace(line[len(at):])
			if words == "" && i+1 < len(lines) {
				words = strings.TrimSpace(lines[i+1])
			}
			return words
		}
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
var program = regexp.MustCompile(`fork/exec .*: function not implemented|exec: ".*": executable file not found in \$PATH`)

// NeedsProgram reports whether a line says that another program could not be started, which
// the kernel never does.
func NeedsProgram(line string) bool { return program.MatchString(line) }

package gotest

import (
	"bytes"
	"fmt"
	"regexp"
	"time"
)

// Line returns the line that ends a package's tests, without a line feed, as go test writes
// it. took is the time that the tests took, output what they have printed; cached says that
// both are from the cache.
func Line(pkg string, passed bool, took time.Duration, cached bool, output []byte) string {
	t := fmt.Sprintf("%.3fs", took.Seconds())
	if cached {
		t = "(cached)"
	}
	if !passed {
		return fmt.Sprintf("FAIL\t%s\t%s", pkg, t)
	}
	none := ""
	if begins(output, "testing: warning: no tests to run") {
		none = " [no tests to run]"
	}
	return fmt.Sprintf("ok  \t%s\t%s%s%s", pkg, t, coverage(output), none)
}

// begins reports whether a line of the output begins so.
func begins(output []byte, line string) bool {
	return bytes.HasPrefix(output, []byte(line)) || bytes.Contains(output, []byte("\n"+line))
}

// coverage returns what the test binary has said of coverage, for the line of its package.
func coverage(output []byte) string {
	covered := regexp.MustCompile(`(?m)^coverage: [^\n]*$`) // what the testing package says
	if m := covered.FindAll(output, -1); len(m) > 0 {
		return "\t" + string(m[len(m)-1])
	}
	return ""
}

// TimedOut reports whether a test binary has ended by its -timeout.
func TimedOut(output []byte) bool { return begins(output, "panic: test timed out after ") }

package main

import (
	"regexp"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// What a test may need that a machine of one program, one processor and no network card
// has not. Nothing here is a guess: either the test's own words say it, or its source
// was read and it is in the list below.
const (
	subprocess = "subprocess" // it starts another program, or finds out about processes
	network    = "network"    // it asks a name server, or connects to another machine
	users      = "users"      // it becomes another user: there is root alone, as in a user namespace with one user
)

// recognized are the words of the Go packages' own errors for what is missing.
var recognized = []struct {
	words  *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`lookup .*: no such host`), network},
	{regexp.MustCompile(`network is unreachable`), network},
	{regexp.MustCompile(`"Set(res|re|e)?[ug]id\([1-9][0-9,]*\)" failed: invalid argument`), users},
}

// known are tests whose words do not tell, by package and name.
var known = map[string]string{
	// These look at what the other process has printed, or how it ended, and not at
	// whether it could be started.
	"crypto/internal/fips140test.TestCASTPasses":            subprocess,
	"crypto/internal/fips140test.TestCASTFailures":          subprocess,
	"crypto/internal/fips140test.TestIntegrityCheckFailure": subprocess,
	"flag.TestExitCode":                                                  subprocess,
	"internal/synctest.TestChannelMovedOutOfBubble":                      subprocess,
	"internal/synctest.TestTimerFromInsideBubble":                        subprocess,
	"internal/synctest.TestWaitGroupMovedIntoBubble":                     subprocess,
	"internal/synctest.TestWaitGroupMovedOutOfBubble":                    subprocess,
	"internal/synctest.TestWaitGroupMovedBetweenBubblesWithNonZeroCount": subprocess,
	"os/exec.TestExitCode":                                               subprocess,
	"os/exec.TestOutputStderrCapture":                                    subprocess,
	"runtime.TestIssue66841":                                             subprocess,
	"runtime.TestRuntimePanic":                                           subprocess,
	"runtime.TestTracebackRuntimeFunction":                               subprocess,
	"runtime.TestTracebackRuntimeMethod":                                 subprocess,
	"runtime.TestTracebackSystem":                                        subprocess,
	"sync.TestIssue76126":                                                subprocess,
	"syscall.TestPrlimitOtherProcess":                                    subprocess,
	"testing.TestFlag":                                                   subprocess,
	"testing.TestMorePanic":                                              subprocess,
	"testing.TestPanic":                                                  subprocess,
	"testing.TestTBHelper":                                               subprocess,
	"testing.TestTBHelperParallel":                                       subprocess,
	"testing/synctest.TestFatal":                                         subprocess,
	"testing/synctest.TestError":                                         subprocess,
	"testing/synctest.TestVerboseError":                                  subprocess,
	"testing/synctest.TestSkip":                                          subprocess,
	"testing/synctest.TestVerboseSkip":                                   subprocess,
	"testing/synctest.TestHelper":                                        subprocess,
}

// reason says what a failed test needs, or "" if that is not known.
func reason(pkg, test string, lines []string) string {
	if r := known[pkg+"."+test]; r != "" {
		return r
	}
	for _, line := range lines {
		if batch.NeedsProgram(line) {
			return subprocess
		}
		for _, k := range recognized {
			if k.words.MatchString(line) {
				return k.reason
			}
		}
	}
	return ""
}

package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/qemu/batch"
)

// What a test may need that a machine of one program, one processor and no network card
// has not. Nothing here is a guess: either the test's own words say it, or its source
// was read and it is in the list below.
const (
	subprocess = "subprocess" // it starts another program, or finds out about processes
	network    = "network"    // it asks a name server, or connects to another machine
	// it becomes another user: there is root alone, as in a user namespace with one user
	users = "users"
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

// known are tests whose words do not tell that they need a subprocess, by package and name. They
// look at what the other process has printed, or how it ended, and not at whether it could be
// started.
var known = strings.Fields(`
	crypto/internal/fips140test.TestCASTPasses
	crypto/internal/fips140test.TestCASTFailures
	crypto/internal/fips140test.TestIntegrityCheckFailure
	flag.TestExitCode
	internal/synctest.TestChannelMovedOutOfBubble
	internal/synctest.TestTimerFromInsideBubble
	internal/synctest.TestWaitGroupMovedIntoBubble
	internal/synctest.TestWaitGroupMovedOutOfBubble
	internal/synctest.TestWaitGroupMovedBetweenBubblesWithNonZeroCount
	os/exec.TestExitCode
	os/exec.TestOutputStderrCapture
	runtime.TestIssue66841
	runtime.TestRuntimePanic
	runtime.TestTracebackRuntimeFunction
	runtime.TestTracebackRuntimeMethod
	runtime.TestTracebackSystem
	sync.TestIssue76126
	syscall.TestPrlimitOtherProcess
	testing.TestFlag
	testing.TestMorePanic
	testing.TestPanic
	testing.TestTBHelper
	testing.TestTBHelperParallel
	testing/synctest.TestFatal
	testing/synctest.TestError
	testing/synctest.TestVerboseError
	testing/synctest.TestSkip
	testing/synctest.TestVerboseSkip
	testing/synctest.TestHelper
`)

// reason says what a failed test needs, or "" if that is not known.
func reason(pkg, test string, lines []string) string {
	if slices.Contains(known, pkg+"."+test) {
		return subprocess
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

package qemu

// zf test -record-failures: the recordings of runs that fail, and of no others, and with -chaos
// soon.

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The races of testdata/racy must be seen with -chaos within so many runs: most are within the
// first few, and those that are not have the others for themselves.
const (
	chaosFirst = "10"
	chaosThen  = "20"
	chaosSeed  = "11" // of these
)

var (
	hasFailed  = regexp.MustCompile(`(?m)^--- FAIL: (\w+) `)
	recordedIn = regexp.MustCompile(`(?m)^zf test: run \d+, seed (\d+), has failed; recorded in (\S+)$`)
)

// failuresCommand is zf test -record-failures on testdata/racy; the recordings go to dir.
func failuresCommand(t *testing.T, dir string, flags ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(zfCommand(t), append(append([]string{"test", "-record-failures", "-outputdir", dir}, flags...), "./testdata/racy")...)
}

// recordFailures runs it, and returns what it has said.
func recordFailures(t *testing.T, dir string, status int, flags ...string) (stdout, stderr string) {
	t.Helper()
	cmd := failuresCommand(t, dir, flags...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if got := exitCode(t, err); got != status {
		t.Fatalf("zf test -record-failures %q: status %d, want %d\n%s%s", flags, got, status, &out, &said)
	}
	return out.String(), said.String()
}

// filesIn returns the names in a folder.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRecordFailures: with -chaos each of five races is seen soon. What is recorded is the run that
// has failed: it replays, and its seed makes the same run.
func TestRecordFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, said := recordFailures(t, dir, 1, "-chaos", "-count", chaosFirst, "-record-keep", chaosFirst, "-p", "1")
	var failed []string
	for _, m := range hasFailed.FindAllStringSubmatch(out, -1) {
		failed = append(failed, m[1])
	}
	for _, race := range []string{"TestLostUpdate", "TestCheckThenAct", "TestLazyInit", "TestUnlockNotify", "TestSwap"} {
		if !slices.Contains(failed, race) {
			recordFailures(t, t.TempDir(), 1, "-chaos", "-seed", chaosSeed, "-count", chaosThen, "-failfast", "-run", "^"+race+"$")
		}
	}
	runs := recordedIn.FindAllStringSubmatch(out, -1)
	if len(runs) == 0 {
		t.Fatalf("no run is recorded: %s%s", out, said)
	}
	var names []string
	for _, r := range runs {
		names = append(names, filepath.Base(r[2]))
	}
	slices.Sort(names)
	if got := filesIn(t, dir); !slices.Equal(got, names) {
		t.Errorf("the files are %q, want %q", got, names)
	}
	if want := "zf test: zf replay " + runs[0][2] + " does it again, "; !strings.Contains(said, want) {
		t.Errorf("zf test says %q; want %q", said, want)
	}

	// Between "--- FAIL" and what zf says is what the machine has said.
	begin, end := strings.Index(out, "--- FAIL: "), strings.Index(out, "FAIL\nzf test: the program exited with status 1\n")
	if begin < 0 || end < begin {
		t.Fatalf("the first run has said\n%s", out)
	}
	first := out[begin:end]
	replay, verdict, status := replayed(t, filepath.Join(dir, filepath.Base(runs[0][2])))
	if status != 0 || !strings.HasPrefix(replay, first) || !strings.Contains(verdict, "zf replay: the same as recorded: ") {
		t.Errorf("the replay has status %d, and says\n%s%s\nrecorded was\n%s", status, replay, verdict, first)
	}
	again, _ := recordFailures(t, t.TempDir(), 1, "-chaos", "-seed", runs[0][1])
	if !strings.HasPrefix(again, first) {
		t.Errorf("seed %s has said\n%s\nand again\n%s", runs[0][1], first, again)
	}
}

// TestRecordFailuresPass: of runs that pass nothing stays.
func TestRecordFailuresPass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, said := recordFailures(t, dir, 0, "-count", "2", "-run", "^TestUnlockNotify$")
	if !strings.HasPrefix(out, "ok  \tgithub.com/zeroframe/zeroframe/qemu/testdata/racy\t") || !strings.HasSuffix(out, "s\t[2 runs]\n") || said != "" {
		t.Errorf("it says %q, %q", out, said)
	}
	if names := filesIn(t, dir); len(names) != 0 {
		t.Errorf("there are files: %q", names)
	}
}

// TestRecordFailuresInterrupted: ^C ends it, and what has been recorded of failures stays.
func TestRecordFailuresInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := failuresCommand(t, dir, "-chaos", "-count", "100000", "-record-keep", "1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, kept := bufio.NewScanner(out), ""
	for lines.Scan() {
		if m := recordedIn.FindStringSubmatch(lines.Text()); m != nil && kept == "" {
			kept = filepath.Base(m[2])
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	if got := exitCode(t, cmd.Wait()); got != 130 || kept == "" || !regexp.MustCompile(`(?m)^zf test: interrupted after \d+ of 100000 runs$`).MatchString(said.String()) {
		t.Errorf("status %d, kept %q: %s", got, kept, &said)
	}
	if names := filesIn(t, dir); !slices.Equal(names, []string{kept}) {
		t.Errorf("the files are %q, want %q", names, kept)
	}
}

// TestRunChaos: zf run -record -chaos has its seed in the recording, which replays.
func TestRunChaos(t *testing.T) {
	t.Parallel()
	path, stdout, status := makeRecording(t, nil, "-q", "-chaos", "-seed", "5", program(t, "replayed"), "--", "work", "6")
	if status != 0 || !strings.Contains(stdout, "work 6 is done") {
		t.Fatalf("the run has status %d, and says\n%s", status, stdout)
	}
	sameReplays(t, path, stdout, 1)
	info, _, _ := replayed(t, path, "-info")
	if !regexp.MustCompile(`(?m)^command line .* env\.GOMAXPROCS=4 chaos=5 `).MatchString(info) {
		t.Errorf("zf replay -info says\n%s", info)
	}
}

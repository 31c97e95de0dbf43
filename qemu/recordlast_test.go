package qemu

// zf run -record-last: what is kept of a run is replayed from a snapshot on, as the whole run would
// be.

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// A lasting is a machine that is recorded by zf run -record-last.
type lasting struct {
	*exec.Cmd
	path, temp string
	stdin      io.WriteCloser
	out, log   *await.Log
}

// recordLast starts one.
func recordLast(t *testing.T, last string, args ...string) *lasting {
	t.Helper()
	l := &lasting{path: filepath.Join(t.TempDir(), "last.zfr"), out: new(await.Log), log: new(await.Log)}
	var err error
	if l.temp, err = os.MkdirTemp("", "last"); err != nil { // a short path
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(l.temp) })
	l.Cmd = exec.Command(zfCommand(t), append([]string{"run", "-v", "-timeout", "10m", "-record", l.path, "-record-last", last}, args...)...)
	l.Stdout, l.Stderr, l.Env = l.out, l.log, append(os.Environ(), "TMPDIR="+l.temp)
	if l.stdin, err = l.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Process.Kill(); l.Wait() })
	return l
}

// cut waits until so many beginnings have been dropped.
func (l *lasting) cut(t *testing.T, times int) {
	t.Helper()
	before := l.file(t)
	for range times {
		await.Poll(t, "the recording begins later", func() bool { return !os.SameFile(before, l.file(t)) })
		before = l.file(t)
	}
}

// file is the recording's.
func (l *lasting) file(t *testing.T) (fi os.FileInfo) {
	t.Helper()
	await.Poll(t, "there is a recording", func() bool {
		var err error
		fi, err = os.Stat(l.path)
		return err == nil
	})
	return fi
}

// end ends the program and returns what it has said, and the exit status.
func (l *lasting) end(t *testing.T) (stdout string, status int) {
	t.Helper()
	io.WriteString(l.stdin, "end\n")
	var exit *exec.ExitError
	if err := l.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return l.out.String(), l.ProcessState.ExitCode()
}

// TestRecordLast: a recording of the last of a run has that, is verified, and whoever asks it about
// what was before is told so; debuggers go back to its beginning.
func TestRecordLast(t *testing.T) {
	t.Parallel()
	need(t, "gdb")
	l := recordLast(t, "100ms", "-append", "tty=cooked", program(t, "replayed"), "--", "turns", "1000000")
	l.cut(t, 3)
	stdout, status := l.end(t)
	if status != 1 || !strings.Contains(stdout, "main.die") {
		t.Fatalf("the run has status %d, and says\n%s\n%s", status, stdout, l.log)
	}
	if !regexp.MustCompile(`zf run: \S+last\.zfr has the last [0-9.]+m?s of the run, from instruction \d+ on\n`).MatchString(l.log.String()) {
		t.Errorf("zf run says\n%s", l.log)
	}
	if all, err := filepath.Glob(filepath.Join(filepath.Dir(l.path), "*")); err != nil || len(all) != 1 {
		t.Errorf("there are %q", all)
	}
	for range 3 {
		out, stderr, status := replayed(t, l.path)
		if status != 0 || !strings.HasSuffix(stdout, out) || strings.Count(out, "turn ") < 5 || !strings.Contains(out, "main.die") || len(out) >= len(stdout) {
			t.Fatalf("the replay has status %d and says\n%s\n%s\nrecorded was\n%s", status, out, stderr, stdout)
		}
		if !regexp.MustCompile(`the same as recorded: \d+ bytes of output, \d+ instructions from instruction [1-9]\d+ on.*; it ended in a trace`).MatchString(stderr) {
			t.Errorf("the replay says %s", stderr)
		}
	}
	info, _, _ := replayed(t, l.path, "-info")
	begins := regexp.MustCompile(`(?m)^begins +at instruction (\d+)`).FindStringSubmatch(info)
	if begins == nil {
		t.Fatalf("-info says\n%s", info)
	}
	for _, tt := range []struct {
		flags  []string
		status int
		says   string
	}{
		{[]string{"-until", "1000"}, 2, "the recording begins at instruction " + begins[1]},
		{[]string{"-until", "end-900000000000"}, 2, "instructions before it"},
		{[]string{"-until", "death-1000"}, 0, "stopped at instruction "},
		{[]string{"-probe", "main.die"}, 0, "the same as recorded"},
		{[]string{"-core", filepath.Join(l.temp, "end.core")}, 0, "the same as recorded"},
	} {
		out, stderr, status := replayed(t, l.path, append([]string{"-q"}, tt.flags...)...)
		if status != tt.status || !strings.Contains(stderr, tt.says) || tt.flags[0] == "-probe" && strings.Count(out, "goroutine 1: main.die\n") != 1 {
			t.Errorf("%q: status %d, says\n%s\n%s\nwant %d, %q", tt.flags, status, out, stderr, tt.status, tt.says)
		}
	}
	for _, tt := range []struct {
		args, says string
		status     int
	}{
		{"-var main.turn", `main\.turns \(main\.go:`, 0},
		{"-var main.rounds", "bytes at 0x[0-9a-f]+ since instruction " + begins[1] + ", where the recording begins", 1},
	} {
		why := exec.Command(zfCommand(t), append(append([]string{"why"}, strings.Fields(tt.args)...), l.path)...)
		b, err := why.CombinedOutput()
		if why.ProcessState.ExitCode() != tt.status || !regexp.MustCompile(tt.says).MatchString(unwrapped(b)) || !bytes.Contains(b, []byte("note: the recording begins at instruction "+begins[1])) {
			t.Errorf("zf why %s: %v\n%s\nwant %s", tt.args, err, b, tt.says)
		}
	}
	backAndForth(t, l.path)
}

// TestRecordLastInstructions: so does one whose time goes by its instructions alone.
func TestRecordLastInstructions(t *testing.T) {
	t.Parallel()
	path, stdout, status := makeRecording(t, nil, "-q", "-icount", "-record-last", "10ms", program(t, "replayed"), "--", "turns", "1500")
	if status != 1 || !strings.Contains(stdout, "main.die") {
		t.Fatalf("the run has status %d, and says\n%s", status, stdout)
	}
	for range 3 {
		out, stderr, status := replayed(t, path)
		if status != 0 || !strings.HasSuffix(stdout, out) || !strings.Contains(out, "main.die") || !strings.Contains(stderr, "the same as recorded") {
			t.Fatalf("the replay has status %d and says\n%s\n%s\nrecorded was\n%s", status, out, stderr, stdout)
		}
	}
}

// backAndForth has gdb go to a recording's death, back to its beginning, and to the death again.
func backAndForth(t *testing.T, path string) {
	t.Helper()
	replay := exec.Command(zfCommand(t), "replay", "-gdb", "127.0.0.1:0", "-reverse", path)
	log := new(await.Log)
	replay.Stderr = log
	if err := replay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replay.Process.Kill(); replay.Wait() })
	line := log.Until(t, func(s string) bool { return strings.Contains(s, "target remote ") && strings.HasSuffix(s, "\n") }, "an address")
	address := strings.TrimSpace(line[strings.LastIndex(line, " ")+1:])
	image := filepath.Join(t.TempDir(), "i.elf")
	if out, stderr, status := replayed(t, path, "-info", "-image", image); status != 0 {
		t.Fatalf("-image: %d\n%s%s", status, out, stderr)
	}
	args := []string{"-q", "-batch", "-nx", "-ex", "set language c", "-ex", "set confirm off", "-ex", "set remotetimeout 600"}
	for _, c := range []string{
		"target remote " + address, "set $begin = $pc", "break main.die", "continue", `printf "died: %d\n", $pc != $begin`,
		"delete", "reverse-continue", `printf "back: %d\n", $pc == $begin`, "break main.die", "continue", "bt 2", "kill",
	} {
		args = append(args, "-ex", c)
	}
	b, err := exec.Command("gdb", append(args, image)...).CombinedOutput()
	said := string(b)
	for _, want := range []string{"died: 1\n", "No more reverse-execution history", "back: 1\n", "main.main ()"} {
		if !strings.Contains(said, want) {
			t.Errorf("gdb: %v, without %q:\n%s", err, want, said)
		}
	}
}

// TestRecordLastBounded: whatever a machine says, and however long it runs, its recording takes so
// much of the disk and not more, and one whose maker is killed is of use.
func TestRecordLastBounded(t *testing.T) {
	t.Parallel()
	l := recordLast(t, "100ms", "-q", program(t, "replayed"), "--", "chat", "1000000")
	l.cut(t, 2)
	first := l.disk(t)
	most := int64(0)
	for l.logged(t) < 8<<20 { // bytes of QEMU's log
		l.cut(t, 1)
		most = max(most, l.disk(t))
	}
	if most > first+first/2+(4<<20) {
		t.Errorf("the recording has taken %d KiB after two cuts, and %d later", first>>10, most>>10)
	}
	l.Process.Kill()
	l.Wait()
	out, stderr, status := replayed(t, l.path)
	if status != 0 || !strings.Contains(stderr, "the recording is cut short") || strings.Count(out, "turn ") < 5 {
		t.Fatalf("the replay has status %d and says\n%s\n%s", status, out, stderr)
	}
	said := l.out.String()
	if out = out[:strings.LastIndex(out, "\n")+1]; !strings.Contains(said+out[max(0, len(out)-4096):], out) {
		t.Errorf("the replay says\n%s\nwhich is not in\n%s", out, said)
	}
}

// disk is what the recording and all that belongs to it take of the disk, in bytes.
func (l *lasting) disk(t *testing.T) (sum int64) {
	t.Helper()
	for _, dir := range []string{filepath.Dir(l.path), l.temp} {
		filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if fi, err := os.Lstat(path); err == nil { // or it is gone
				sum += fi.Sys().(*syscall.Stat_t).Blocks * 512
			}
			return nil
		})
	}
	return sum
}

// logged is how long QEMU's log is.
func (l *lasting) logged(t *testing.T) int64 {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(l.temp, "*", "log"))
	if err != nil || len(all) != 1 {
		t.Fatalf("QEMU's log: %q, %v", all, err)
	}
	fi, err := os.Stat(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// TestRecordLastShort: of a short run all is kept.
func TestRecordLastShort(t *testing.T) {
	t.Parallel()
	path, stdout, _ := makeRecording(t, nil, "-q", "-record-last", "1h", program(t, "replayed"), "--", "work", "1")
	sameReplays(t, path, stdout, 1)
}

// TestRecordLastRefuses: what does not go with -record-last is said, before anything runs.
func TestRecordLastRefuses(t *testing.T) {
	t.Parallel()
	elf, path := program(t, "replayed"), filepath.Join(t.TempDir(), "r.zfr")
	for _, tt := range []struct {
		flags []string
		says  string
	}{
		{nil, "-record-last is for -record FILE.zfr"},
		{[]string{"-record", path, "-smp", "2"}, "-record records one CPU, not 2"},
		{[]string{"-record", path, "-net", "e1000"}, "-record-last does not go with -net"},
		{[]string{"-record", path, "-record-last", "1ms"}, "want a time of 10ms or more"},
		{[]string{"-record", path, "-record-last", "x"}, "want a time"},
	} {
		out, err := exec.Command(zfCommand(t), append(append([]string{"run", "-v", "-record-last", "1s"}, tt.flags...), elf)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), tt.says) {
			t.Errorf("%q: %v\n%s\nwant status 2, %q", tt.flags, err, out, tt.says)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a recording")
	}
	for _, cfg := range []Config{{Snapshots: true}, {Snapshot: elf}, {Snapshot: elf, Record: io.Discard}, {Snapshots: true, Record: io.Discard, VirtualTime: true, CDROM: elf}, {Snapshots: true, Record: io.Discard}} {
		if cfg.CDROM == "" {
			cfg.Kernel = elf
		}
		if _, err := Start(t.Context(), cfg); !errors.Is(err, ErrRecord) {
			t.Errorf("%+v: %v; want %v", cfg, err, ErrRecord)
		}
	}
}

// TestStateOf: where QEMU was in its log is found in the image of a state, wherever it stands, and
// not taken from an older state.
func TestStateOf(t *testing.T) {
	state := func(log, instructions uint64) []byte {
		b := []byte(stateName)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 2)
		b = append(b, make([]byte, 16)...)
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(instructions>>shift))
		}
		b = append(b, make([]byte, 12)...)
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(log>>shift))
		}
		return append(b, make([]byte, mostState)...)
	}
	for at := 1<<20 - 200; at < 1<<20+300; at += 7 {
		b := make([]byte, 3<<20)
		copy(b[at:], state(7000, 1<<33))
		copy(b[100:], state(6000, 1<<32))    // an older one
		copy(b[2<<20:], state(1<<60, 1<<34)) // no log is so long
		copy(b[2<<20+500:], stateName+"ish") // nothing
		path := filepath.Join(t.TempDir(), "states")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if log, n, err := stateOf(path); err != nil || log != 7000 || n != 1<<33 {
			t.Fatalf("at %d: %d, %d, %v; want 7000, %d", at, log, n, err, 1<<33)
		}
	}
	path := filepath.Join(t.TempDir(), "states")
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := stateOf(path); !errors.Is(err, ErrNotNow) {
		t.Errorf("of nothing: %v; want %v", err, ErrNotNow)
	}
}

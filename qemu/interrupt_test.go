//go:build unix

package qemu

// ^C of each command that takes a while, at the moment when the most would be left behind.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// inSession returns the processes of a session, as /proc has them where there is one.
func inSession(session int) (all []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path) // it may have ended
		name, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 3 && f[3] == fmt.Sprint(session) && f[0] != "Z" {
			all = append(all, name)
		}
	}
	return all
}

// TestInterrupted: a terminal's ^C, which all processes of the command get, ends it with the status
// of a process that SIGINT has ended, in one word, and nothing is left.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	recording, _, _ := makeRecording(t, nil, "-q", program(t, "culprits"), "--", "nilfield")
	elf := program(t, "culprits")
	const building = "tmp/zf-build-*/go-build*"
	for _, tt := range []struct {
		args string
		when string // a file is there, or it has said this
		not  string // what it must not say
	}{
		{"build -o x.elf ./testdata/culprits", building, "built"},
		{"run ./testdata/culprits", building, "built"},
		{"test ./testdata/racy", building, "[build failed]"},
		{"test -v -run ^TestUnlockNotify$ -count 1000000 ./testdata/racy", "=== RUN", "[build failed]"},
		{"test -json -run ^TestUnlockNotify$ -count 1000000 ./testdata/racy", `"Action":"run"`, "-json: "},
		{"iso -o x.iso " + elf, "tmp/zf-iso-*/grub.*", "wrote"},
		{"doctor -again", building, "BAD"},
		{"replay -core x.core " + recording, "x.core.elf", "the same"},
		{"report -o x.html " + recording, "looking for why", "wrote"},
		{"why -progress " + recording, "replay 1", "cannot be told"},
	} {
		dir := t.TempDir()
		tmp := filepath.Join(dir, "tmp")
		if err := os.Mkdir(tmp, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(zfCommand(t), strings.Fields(strings.ReplaceAll(tt.args, " x.", " "+dir+"/x."))...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		if strings.HasPrefix(tt.when, building) { // it has to take long
			cmd.Env = append(cmd.Env, "GOCACHE="+filepath.Join(t.TempDir(), "go"), "XDG_CACHE_HOME="+t.TempDir())
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var said output
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for waiting := true; waiting; {
			files, _ := filepath.Glob(filepath.Join(dir, tt.when))
			waiting = len(files) == 0 && !strings.Contains(said.String(), tt.when)
			select {
			case err := <-ended:
				t.Fatalf("zf %s has ended before %s: %v, %s", tt.args, tt.when, err, said.String())
			case <-time.After(time.Millisecond):
			}
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		status := exitCode(t, <-ended)
		name, _, _ := strings.Cut(tt.args, " ")
		if s := said.String(); status != 130 || !strings.Contains(s, "zf "+name+": interrupted") || strings.Contains(s, tt.not) {
			t.Errorf("zf %s: status %d, %s; want 130, interrupted and not %q", tt.args, status, s, tt.not)
		}
		// Who is told to end does so.
		await.Poll(t, "the end of what zf "+tt.args+" has started", func() bool { return len(inSession(cmd.Process.Pid)) == 0 })
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
		temporary, _ := filepath.Glob(filepath.Join(tmp, "*"))
		if all := slices.Concat(left, hidden, temporary); len(all) != 1 {
			t.Errorf("zf %s leaves %q", tt.args, all)
		}
	}
}

// TestInterruptedQuietly: a command that only computes ends by ^C, too, and what it was writing is gone.
func TestInterruptedQuietly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A named pipe: it waits for input, after it has begun the file.
	log := filepath.Join(dir, "log")
	if err := syscall.Mkfifo(log, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(zfCommand(t), "trace", "-e", program(t, "culprits"), log)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	to, err := os.OpenFile(log, os.O_WRONLY, 0) // it has come to read
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	status := exitCode(t, cmd.Wait())
	if all, _ := os.ReadDir(dir); status != 130 || said.String() != "zf trace: interrupted\n" || len(all) != 1 {
		t.Errorf("zf trace: status %d, %q, leaves %v; want 130, interrupted, the pipe alone", status, &said, all)
	}
}

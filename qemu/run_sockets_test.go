package qemu

// A program that does with sockets what programs do, on the kernel and on Linux: both
// must say the same, line by line.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// runSockets runs the program on the kernel and returns what it wrote, from start on.
func runSockets(t *testing.T, start string, args ...string) string {
	t.Helper()
	cmd := zfRun(t, args...)
	out, err := cmd.Output()
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	if err != nil {
		// The program's own panic is the point, not the trace behind it.
		t.Fatalf("%v: %v\n%.2000s\n%s", cmd.Args, err, text[max(0, strings.Index(text, "panic: ")):], lastLines(text, 10))
	}
	_, text, _ = strings.Cut("\n"+text, "\n"+start)
	return start + text
}

func lastLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

// nobody is the command that runs a program without privileges, as which it may do no harm to this
// machine. It is run by its descriptor, since
// the way to it may be closed to nobody.
func nobody(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		return exec.Command(path)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	const id = 65534
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	if root, err := os.Stat("/"); err == nil && root.Mode()&1 == 0 {
		// The root folder is closed, and so nobody can run or open anything without this one right.
		return exec.Command("setpriv", "--reuid", fmt.Sprint(id), "--regid", fmt.Sprint(id), "--clear-groups",
			"--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search", path)
	}
	return cmd
}

func TestSocketCalls(t *testing.T) {
	t.Parallel()
	if out, err := os.ReadFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6"); err != nil || string(out) != "0\n" {
		t.Fatalf("no IPv6 loopback to compare with: %q, %v; sysctl net.ipv6.conf.lo.disable_ipv6=0 brings it", out, err)
	}
	out, err := nobody(t, hostCommand(t, "./testdata/sockets")).Output()
	if err != nil {
		var stderr []byte
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			stderr = exit.Stderr
		}
		t.Fatalf("on Linux: %v\n%s%s", err, lastLines(string(out), 20), stderr)
	}
	want := strings.Split(string(out), "\n")
	got := strings.Split(networkNotes.ReplaceAllString(runSockets(t, "== tcp\n", program(t, "sockets")), ""), "\n")
	if len(want) < 1000 {
		t.Fatalf("on Linux it wrote %d lines only", len(want))
	}
	wrong, part := 0, ""
	for i, w := range want {
		if strings.HasPrefix(w, "== ") {
			part = w
		}
		if i >= len(got) {
			t.Fatalf("%s: line %d and those after it are missing: %q", part, i, w)
		}
		if got[i] == w {
			continue
		}
		t.Errorf("%s, line %d:\n %q; Linux has\n %q", part, i, got[i], w)
		if wrong++; wrong == 20 {
			t.Fatal("and so on")
		}
	}
	if len(got) > len(want) {
		t.Errorf("there are %d lines more than Linux has: %q", len(got)-len(want), got[len(want)])
	}
}

// TestGroups6: Linux has no way to groups of version 6 at lo, unless somebody has made one.
func TestGroups6(t *testing.T) {
	t.Parallel()
	const hears = "\"hello\", its sender: true, <nil>\n"
	want := "== groups6\nff02::114: ok ok\n" + hears + hears + "ff05::7: ok ok\n" + hears + hears + "== end\n"
	if got := runSockets(t, "== groups6", program(t, "sockets"), "--", "groups6"); got != want {
		t.Errorf("the program wrote %q, want %q", got, want)
	}
}

// networkNotes are what the log says of a network that is not there.
var networkNotes = regexp.MustCompile(`(?m)^no (way to other machines|name server) .*\n`)

// TestSocketsLeaveNothing: connections, many more than memory could hold.
func TestSocketsLeaveNothing(t *testing.T) {
	t.Parallel()
	if got := runSockets(t, "===", "-m", "48", program(t, "sockets"), "--", "storm", "10000"); got != "=== 10000 connections\n" {
		t.Errorf("the program wrote %q", lastLines(got, 20))
	}
}

// TestSocketsCrowd: thousands of connections are open at once, and each has what was sent by it;
// where there are no more descriptors that is said, and all can be used again.
func TestSocketsCrowd(t *testing.T) {
	t.Parallel()
	want := "=== 1500 connections, 1500 echoes\ndescriptors until too many open files true\nand again: true\n"
	if got := runSockets(t, "===", "-m", "256", program(t, "sockets"), "--", "crowd", "1500"); got != want {
		t.Errorf("the program wrote %q", lastLines(got, 20))
	}
}

package qemu

// A program that does with sockets what programs do, on the kernel and on Linux: both
// must say the same, line by line.

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// runSockets runs the program on the kernel and returns what it wrote, from start on.
func runSockets(t *testing.T, start string, args ...string) string {
	t.Helper()
	cmd := exec.Command(zfCommand(t), append([]string{"run", "-timeout", "10m"}, args...)...)
	out, err := cmd.Output()
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, lastLines(text, 60))
	}
	_, text, _ = strings.Cut("\n"+text, "\n"+start)
	return start + text
}

func lastLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

func TestSockets(t *testing.T) {
	t.Parallel()
	if out, err := os.ReadFile("/proc/sys/net/ipv6/conf/lo/disable_ipv6"); err != nil || string(out) != "0\n" {
		t.Fatalf("no IPv6 loopback to compare with: %q, %v; sysctl net.ipv6.conf.lo.disable_ipv6=0 brings it", out, err)
	}
	native := host(t, "./testdata/sockets")
	out, err := exec.Command(native).Output()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, lastLines(string(out), 20))
	}
	want := strings.Split(string(out), "\n")
	got := strings.Split(runSockets(t, "== tcp\n", program(t, "sockets")), "\n")
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

// TestSocketsLeaveNothing: connections, many more than memory could hold.
func TestSocketsLeaveNothing(t *testing.T) {
	t.Parallel()
	if got := runSockets(t, "===", "-m", "48", program(t, "sockets"), "--", "storm", "10000"); got != "=== 10000 connections\n" {
		t.Errorf("the program wrote %q", lastLines(got, 20))
	}
}

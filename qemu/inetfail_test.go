package qemu

import (
	"os/exec"
	"strings"
	"testing"
)

// TestInetFails: when goroutines of the network's stack die, hang or fall behind, the program's calls
// end in time and the program goes on; the trace says whose goroutine it was.
func TestInetFails(t *testing.T) {
	t.Parallel()
	server := hostServer(t, echo)
	const (
		panics  = "zf run: panic in a goroutine of the network, without which the program goes on:\n    the stack is broken\n"
		down    = "read: network is down\n"
		lost    = "connect: network is unreachable\n"
		timeout = "i/o timeout\n"
		fine    = " <nil>\n"
	)
	for _, tt := range []struct {
		how              string
		cpus             []string
		echo, dial, read string // how the lines of these calls end
		trace            string
	}{
		{"pieces panic", []string{"1", "4"}, down, lost, down, panics},
		{"outs panic", []string{"1", "4"}, down, lost, down, panics},
		{"pieces hang", []string{"1", "2"}, timeout, timeout, "", ""},
		{"outs hang", []string{"1", "2"}, timeout, timeout, "", ""},
		{"pieces late", []string{"1", "2"}, timeout, fine, "", ""},
		{"outs late", []string{"1", "2"}, timeout, fine, "", ""},
		{"outs processor", []string{"1"}, "", "", "", "zf run: panic: the stack is broken\n"},
	} {
		for _, n := range tt.cpus {
			t.Run(tt.how+" "+n, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"run", "-smp", n, "-timeout", "10m", "-net", "virtio", "./testdata/stackdies", "--"}, strings.Fields(tt.how)...)
				out, err := exec.Command(zfCommand(t), append(args, inGuest(server))...).CombinedOutput()
				s, code := string(out), exitCode(t, err)
				if tt.trace != "" && (!strings.Contains(s, tt.trace) || !strings.Contains(s, " of the network") ||
					!strings.Contains(s, "  main.spoil.func1()  testdata/stackdies/main.go:")) {
					t.Errorf("the trace is not of the network:\n%s", s)
				}
				if tt.echo == "" {
					if code != 1 {
						t.Errorf("status %d", code)
					}
					return
				}
				rest := s
				for _, w := range [][2]string{{"\necho:", tt.echo}, {"\ndial:", tt.dial}, {"\nread:", tt.read}, {"\nloopback:", fine}} {
					if w[1] == "" {
						continue
					}
					_, after, _ := strings.Cut(rest, w[0])
					line, _, _ := strings.Cut(after, "\n")
					if rest = after; !strings.HasSuffix(line+"\n", w[1]) || strings.HasPrefix(line, " late") {
						t.Errorf("%q, want the end %q", w[0]+line, w[1])
					}
				}
				if code != 0 || !strings.Contains(s, "the end\n") {
					t.Errorf("status %d\n%s", code, s)
				}
			})
		}
	}
}

package qemu

// System calls seen from a program: what those with bad pointers return, next to what
// Linux returns to the same program, and which are counted as unknown.

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// said is what a program has written after the boot report, with plain line ends.
func said(serial string) string {
	return strings.ReplaceAll(serial[len(bootReport.FindString(serial)):], "\r\n", "\n")
}

// pointerExceptions are the answers to bad pointers in which the kernel differs from
// Linux: NAME WAY: LINUX/OURS.
var pointerExceptions = []struct{ pattern, why string }{
	{`^((read|write)v? (size )?.* |(pread64|pwrite64) .* |(read|write)v (part|second part|size) .* |getrandom |(send|recv)msg (stream|datagram) (second part|part size) )` +
		`(cross|2\^\d+|nil|one|page0|ram|apic|vga|hole|none|end|over|gap|bit63|upper|last|text|constant|readonly): (14/(0|\+\d+)|(0|\+\d+)/14)$`,
		"what lies before a bad place is moved, or nothing is: that differs between Linux's own files, too"},
	{`^readv count epoll 2.*: 22/\+0$`, "no parts to read are no error"},
	{`^sendfile offset .*: (0|14)/22$`, "it is for sockets only; programs then read and write"},
	{`^mmap( file)? -1: 1/22$`, "the address is not that of a page; Linux rounds it up to 0, which it protects"},
	{`^newfstatat empty nil: 0/14$`, "Linux allows it since 6.11"},
	{`^sendmsg (stream|datagram|udp) .*: (14|105)/(0|89|106)$`, "that the socket cannot send is found before the bad address"},
	{`^sendto address size 2\^\d+: 22/89$`, "as for sendmsg"},
	{`^getcwd size .*: \+\d+/\+\d+$`, "the directory's name is another"},
	{`^futex wake end: 0/14$`, "what counts as out of reach differs by a page"},
}

// TestPointers: each system call that takes a pointer, with pointers that are bad in
// many ways, returns what Linux returns, or EFAULT; and the kernel and the program's
// runtime go on. The table of the calls is testdata/calls/pointers.
func TestPointers(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/pointers")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	onLinux := exec.CommandContext(ctx, elf, t.TempDir())
	onLinux.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that it has no terminal of ours
	out, err := onLinux.CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, out)
	}
	want := answers(string(out))

	vm, serial := start(t, Config{Kernel: elf}, "")
	res, err := vm.Wait()
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Fatalf("the machine: %v, status %d, %v; want status 0", res.Outcome, res.Program, err)
	}
	text := strings.ReplaceAll(said(serial.String()), "\x00", "") // written to the terminal by good parts of bad calls
	if !strings.Contains(text, "alive after ") || strings.Contains(text, "left over") {
		t.Errorf("the program did not go on as it should:\n%.300s", text[max(0, len(text)-300):])
	}
	got := answers(text)
	if len(want) < 300 {
		t.Errorf("only %d calls were made", len(want))
	}
	faults := 0
	for name, ways := range want {
		for way, linux := range ways {
			ours := got[name][way]
			line := name + " " + way + ": " + linux + "/" + ours
			if ours == "14" {
				faults++
			}
			switch {
			case ours == linux, linux == "38": // an older Linux
			case ours == "14" && linux != "0" && linux[0] != '+': // another error than Linux's
			case excepted(line):
			default:
				t.Errorf("%s; want Linux's answer, or 14 (EFAULT)", line)
			}
		}
	}
	if faults < 3000 {
		t.Errorf("%d of the answers were EFAULT; want most", faults)
	}
}

func excepted(line string) bool {
	for _, e := range pointerExceptions {
		if regexp.MustCompile(e.pattern).MatchString(line) {
			return true
		}
	}
	return false
}

// answers reads the lines NAME: WAY=ANSWER ...
func answers(text string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ": ")
		if !ok || !strings.Contains(rest, "=") {
			continue
		}
		all[name] = map[string]string{}
		for _, f := range strings.Fields(rest) {
			way, answer, _ := strings.Cut(f, "=")
			all[name][way] = answer
		}
	}
	return all
}

// TestUnknownCalls: calls that are not answered return ENOSYS, and the exit report lists
// them, by name where they have one.
func TestUnknownCalls(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/unknown")
	for _, tt := range []struct {
		options string
		status  int
		want    string
	}{
		{"", 0, ""},
		{"env.STATUS=5", 5, ""},
		{"syscalls=log", 0, unknownReport},
		{"syscalls=log env.STATUS=5", 5, unknownReport},
		{"syscalls=log env.QUIET=1", 0, `^\d+ system calls\n$`},
		{"syscalls=maybe env.QUIET=1", 0, `^syscalls=maybe is ignored: want log\n$`},
	} {
		vm, serial := start(t, Config{Kernel: elf, Append: tt.options}, "")
		res, err := vm.Wait()
		_, report, ok := strings.Cut(said(serial.String()), "all ENOSYS\n")
		if err != nil || res.Outcome != Exited || res.Program != tt.status || !ok {
			t.Errorf("%q: %v, status %d, %v; want status %d", tt.options, res.Outcome, res.Program, err, tt.status)
		}
		if tt.want == "" && report != "" || !regexp.MustCompile(tt.want).MatchString(report) {
			t.Errorf("%q: the exit report is %q; want %q", tt.options, report, tt.want)
		}
	}
}

// unknownReport is what the program's calls make of it.
const unknownReport = `^\d+ system calls; not answered:
   59 execve, 1 times
  101 ptrace, 2 times
  163 acct, 3 times
  335 \?, 1 times
  425 io_uring_setup, 4 times
  511 \?, 3 times
$`

// TestWaits: calls that wait, and which nothing but our own program makes, do as on
// Linux.
func TestWaits(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/waits")
	want, err := exec.Command(elf).CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, want)
	}
	vm, serial := start(t, Config{Kernel: elf}, "")
	res, err := vm.Wait()
	if got := said(serial.String()); err != nil || res.Outcome != Exited || res.Program != 0 || got != string(want) {
		t.Errorf("%v, status %d, %v, %q; want status 0, %q", res.Outcome, res.Program, err, got, want)
	}
}

// TestSignalsToNowhere: a signal whose stack or handler is no memory of the program ends
// it, not the kernel.
func TestSignalsToNowhere(t *testing.T) {
	t.Parallel()
	elf, symbols, err := programSymbols(t, "calls/signals")
	if err != nil {
		t.Fatal(err)
	}
	for mode, reason := range map[string]string{
		"hole": "ended by signal 11, SIGSEGV", "bit63": "ended by signal 11, SIGSEGV", "text": "ended by signal 11, SIGSEGV",
		"handler": "fatal error: fault",
	} {
		res, serial, err := boot(t, Config{Kernel: elf}, "-- "+mode)
		all := traces(t, symbols, serial)
		if err != nil || res.Outcome != Traced || len(all) != 1 {
			t.Errorf("%s: %v, %v, %d traces; want one", mode, res.Outcome, err, len(all))
			continue
		}
		tr := all[0]
		if tr.Context != "goroutine" || !strings.Contains(tr.Reason, reason) || !tr.Complete || !strings.Contains(tr.chain(), "main.main") {
			t.Errorf("%s: in %s: %s: %s (complete: %v); want %s in main.main", mode, tr.Context, tr.Reason, tr.chain(), tr.Complete, reason)
		}
	}
}

package qemu

// System calls seen from a program: which are counted as unknown, and what becomes of those that
// wait.

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// said is what a program has written after the boot report, with plain line ends.
func said(serial string) string {
	return strings.ReplaceAll(serial[len(bootReport.FindString(serial)):], "\r\n", "\n")
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

// TestPtys: pseudo-terminals are as on Linux, line by line.
func TestPtys(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/ptys")
	want, err := exec.Command(elf).CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, want)
	}
	vm, serial := start(t, Config{Kernel: elf}, "")
	res, err := vm.Wait()
	if err != nil || res.Outcome != Exited || res.Program != 0 {
		t.Errorf("%v, status %d, %v; want status 0", res.Outcome, res.Program, err)
	}
	compareLines(t, "the program", said(serial.String()), string(want))
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

// TestFaultCodes: a fault says whether anything is mapped there, as on Linux.
func TestFaultCodes(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/signals")
	code := regexp.MustCompile(`\[signal SIGSEGV: segmentation violation code=0x[0-9a-f]+ addr=0x[0-9a-f]+ `)
	for _, mode := range []string{"unmapped", "none", "read"} {
		onLinux, err := exec.Command(elf, mode).CombinedOutput() // it dies of it
		want := code.FindString(string(onLinux))
		if want == "" {
			t.Fatalf("%s on Linux: %v\n%s", mode, err, onLinux)
		}
		res, serial, err := boot(t, Config{Kernel: elf}, "-- "+mode)
		if err != nil || res.Outcome != Traced || !strings.Contains(serial, want) {
			t.Errorf("%s: %v, %v, %q; want %q", mode, res.Outcome, err, code.FindString(serial), want)
		}
	}
}

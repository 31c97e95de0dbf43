package qemu

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestProcess: what a program learns of its own process is what it learns on Linux,
// there without a terminal and started by its full name.
func TestProcess(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/process")
	onLinux := exec.Command(elf)
	onLinux.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that it has no terminal of ours
	want, err := onLinux.CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, want)
	}
	vm, serial := start(t, Config{Kernel: elf, Append: "tty=pipe arg0=" + elf}, "")
	res, err := vm.Wait()
	if got := said(serial.String()); err != nil || res.Outcome != Exited || res.Program != 0 || got != string(want) {
		t.Errorf("%v, status %d, %v; it says\n%s\nwant status 0 and\n%s", res.Outcome, res.Program, err, got, want)
	}
}

// identity is what Linux answers to testdata/calls/identity in a user namespace with one user
// (unshare -Ur setsid -w PROGRAM).
const identity = `setuid 0: 0
setuid 1000: 22
setuid -1: 22
setgid 0: 0
setgid 1000: 22
setreuid -1 0: 0
setreuid 0 1000: 22
setregid 1000 -1: 22
setresuid -1 -1 0: 0
setresuid 0 0 1000: 22
setresgid 0 1000 0: 22
setgroups 2: 1
setpgid of itself: 1
setpgid of itself by number: 1
setpgid of nobody: 3
setpgid -1: 22
setsid: 1
`

// TestIdentity: the program cannot be somebody else, and is told so.
func TestIdentity(t *testing.T) {
	t.Parallel()
	vm, serial := start(t, Config{Kernel: program(t, "calls/identity")}, "")
	res, err := vm.Wait()
	if got := said(serial.String()); err != nil || res.Outcome != Exited || res.Program != 0 || got != identity {
		t.Errorf("%v, status %d, %v, %q; want status 0, %q", res.Outcome, res.Program, err, got, identity)
	}
}

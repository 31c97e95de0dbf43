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

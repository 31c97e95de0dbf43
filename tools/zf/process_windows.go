package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/windows"
)

// newlines has nothing to do: output is another handle than the keys', and as it was.
func newlines(int) error { return nil }

// foreground leaves ^C to the command, which shares the console, while it runs.
func foreground(*exec.Cmd, *os.File) (back func()) {
	signal.Ignore(os.Interrupt)
	return func() { signal.Reset(os.Interrupt) }
}

// yieldProcessor leaves the processor to others, if that can be.
func yieldProcessor() {
	windows.SetPriorityClass(windows.CurrentProcess(), windows.BELOW_NORMAL_PRIORITY_CLASS)
}

// detach lets a command outlive the console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

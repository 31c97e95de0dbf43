//go:build unix

package main

// What Unix and Windows do differently with terminals and processes; process_windows.go has the
// same names.

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// newlines switches on again that a line feed returns to the first column, which
// is a matter of output, not of keys: it holds for all that writes to the terminal,
// such as a pager behind us in a pipe.
func newlines(fd int) error {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	t.Oflag |= unix.OPOST | unix.ONLCR
	return unix.IoctlSetTermios(fd, setTermios, t)
}

// foreground makes a command the foreground process group of a terminal while it runs: ^C is
// for it alone. back gives the terminal back.
func foreground(cmd *exec.Cmd, terminal *os.File) (back func()) {
	fd := int(terminal.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: fd}
	signal.Ignore(syscall.SIGTTOU) // for who takes the terminal back from behind
	return func() {
		unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp())
		signal.Reset(syscall.SIGTTOU)
	}
}

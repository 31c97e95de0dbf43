//go:build lean

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// become runs the program at path as if it had this process's place: with its arguments, streams
// and exit status. ^C reaches it by the console, which both share.
func become(path string) error {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}

// apart has the console's ^C not reach a command.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

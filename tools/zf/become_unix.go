//go:build lean && unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// become puts the program at path into this process's place, with the same arguments.
func become(path string) error { return syscall.Exec(path, os.Args, os.Environ()) }

// apart has a terminal's signals not reach a command.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

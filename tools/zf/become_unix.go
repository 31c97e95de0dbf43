//go:build lean && unix

package main

import (
	"os"
	"syscall"
)

// become puts the program at path into this process's place, with the same arguments.
func become(path string) error { return syscall.Exec(path, os.Args, os.Environ()) }

package main

import (
	"os"
	"os/exec"
	"os/signal"
)

// newlines has nothing to do: output is another handle than the keys', and as it was.
func newlines(int) error { return nil }

// foreground leaves ^C to the command, which shares the console, while it runs.
func foreground(*exec.Cmd, *os.File) (back func()) {
	signal.Ignore(os.Interrupt)
	return func() { signal.Reset(os.Interrupt) }
}

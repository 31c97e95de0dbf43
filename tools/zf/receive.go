package main

// The receiver is a program of its own (tools/receive/zf-receive says why), which takes
// the place of this one as far as that can be: its arguments, streams, signals and exit
// status.

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// runReceive runs `zf receive`.
func runReceive(c *call) error {
	path, err := image.Companion(c.interruptible(), "tools/receive/zf-receive", "zf-receive",
		func() { c.say("building zf-receive, once") })
	if err != nil {
		return err
	}
	c.deaf()
	// A terminal sends an interrupt to both, others send it to this one alone. The program
	// takes two of them as the wish to end at once, so it is handed on in another form.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if len(c.given) > 0 && isHelp(c.given[0]) {
		c.stderr = c.stdout // asked for, it is the output
	}
	cmd := exec.Command(path, c.given...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, c.stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-signals:
				cmd.Process.Signal(syscall.SIGTERM)
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return status(exit.ExitCode())
	}
	return err
}

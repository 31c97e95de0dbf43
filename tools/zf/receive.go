package main

// The receiver is a program of its own (tools/receive/zf-receive says why), which takes
// the place of this one as far as that can be: its arguments, streams, signals and exit
// status.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/image"
)

const receiveProgram = "tools/receive/zf-receive"

// runReceive runs `zf receive`.
func runReceive(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := failing("zf receive", stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	path, err := image.Companion(ctx, receiveProgram, func() {
		fmt.Fprintln(stderr, "zf receive: building zf-receive, once")
	})
	stop()
	if err != nil {
		return fail("%v", err)
	}
	// A terminal sends an interrupt to both, others send it to this one alone. The program
	// takes two of them as the wish to end at once, so it is handed on in another form.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		return fail("%v", err)
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
		return exitOK
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return fail("%v", err)
}

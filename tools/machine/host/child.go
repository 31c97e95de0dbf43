package host

// A program that a terminal's ^C does not reach: its starter gets it, and ends the program. If both
// got it, a child that is gone before its starter has seen the signal would look like one that has
// failed.

import (
	"context"
	"os/exec"
	"time"
)

// endLimit is how long a program may take to end, when it has been told to.
const endLimit = 5 * time.Second

// Command is [exec.CommandContext] for a program that gets a process group of its own. The end of
// ctx interrupts all processes of that, so that they can tidy up, and they are killed if they do
// not end.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = endLimit
	alone(cmd)
	return cmd
}

// Run runs a command of [Command] with the same ctx to its end. If it was interrupted, all that it
// had started has ended, too: nobody writes any more to a folder that is to be removed.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		end(cmd.Process.Pid)
	}
	return err
}

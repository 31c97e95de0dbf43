//go:build unix

package host

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// How often end looks, and for how long.
const (
	lookEvery = time.Millisecond
	lookLimit = 100 * time.Millisecond
)

// end ends what is left of a command's process group, and waits for that. What has ended and was
// not waited for by its own starter may stay for ever, so there is a limit.
func end(group int) {
	for began := time.Now(); time.Since(began) < lookLimit; time.Sleep(lookEvery) {
		if syscall.Kill(-group, syscall.SIGKILL) != nil {
			return
		}
	}
}

// alone gives a command its process group; child_other.go has the same name.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

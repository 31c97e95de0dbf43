package qemu

// QEMU is a large program that reads what the guest says and, in a replay, a stranger's file. Where
// it can, it gives up what no machine of zf needs: to start programs, to change its rights and its
// share of the host. What it may still do - open files, use the network - is in SECURITY.md.

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// sandbox is what QEMU gives up: a filter of Linux's (seccomp) denies it those system calls.
const sandbox = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

// confine decides whether QEMU is to be confined. It is not where the user's own arguments may need
// a program, as the network's scripts and commands do. Nor is a QEMU that cannot be asked: the
// error of its start says why.
func (c *Config) confine(ctx context.Context) {
	programs := strings.Contains(c.Net, "guestfwd") || strings.Contains(c.Net, "smb")
	if runtime.GOOS != "linux" || programs || len(doubtsOf(c.Extra)) > 0 {
		return
	}
	c.confined, _ = can(ctx, c.Program, "sandbox", "-nodefaults", "-display", "none",
		"-machine", "pc", "-accel", "tcg", "-S", "-monitor", "stdio", "-sandbox", sandbox)
}

// canLimit is how long an answer to can may take.
const canLimit = 10 * time.Second

// capabilities are the answers of this process, by key.
var capabilities sync.Map

// can reports whether a QEMU takes these arguments, with which it ends at once. The answer is
// remembered under name as long as it is the same file, a refusal for a while.
func can(ctx context.Context, program, name string, args ...string) (bool, error) {
	a := hostAccelerator() // for its memory
	a.name = name
	key, err := a.key(program)
	if err != nil {
		return false, err
	}
	if works, ok := capabilities.Load(key); ok {
		return works.(bool), nil
	}
	known, ok := a.recall()[key]
	if !ok || !known.Works && a.now().Sub(known.When) > tryAgain {
		limited, cancel := context.WithTimeout(ctx, canLimit)
		defer cancel()
		cmd := host.Command(limited, program, args...)
		cmd.Stdin = strings.NewReader("quit\n")
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		known = answer{Works: err == nil, When: a.now()}
		if err != nil {
			if exit := new(exec.ExitError); !errors.As(err, &exit) {
				return false, fmt.Errorf("%w: %v", ErrQEMU, err)
			}
			known.Why = strings.TrimSpace(string(out))
		}
		if limited.Err() == nil { // a busy host's answer is for now
			a.remember(key, known)
		}
	}
	capabilities.Store(key, known.Works)
	return known.Works, nil
}

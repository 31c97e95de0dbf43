package main

// `zf doctor`: what this machine has of what the commands need.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/doctor"
	"github.com/zeroframe/zeroframe/tools/machine/host"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

const doctorText = `Doctor says what is on this machine of what the commands need, one line each:
ok, none (only some commands need it) or BAD, and how to install what is missing
by the system's own package manager. QEMU's accelerators are tried, each with a
tiny kernel; one that has failed is tried again after a week, or with -again.

Exit status: 0 zf run works here; 3 it does not.`

// runDoctor runs `zf doctor`.
func runDoctor(c *call) error {
	again := false
	if err := c.parse([]option{
		{&again, "again", "try an accelerator that has failed again"},
	}); err != nil {
		return err
	}
	if c.NArg() > 0 {
		return fmt.Errorf("unexpected %q; it takes no arguments", c.Arg(0))
	}
	out := c.stdout
	if isTerminal(out) {
		line := &progressLine{w: out}
		defer line.close()
		defer time.AfterFunc(progressAfter, func() { line.set("trying QEMU's accelerators") }).Stop()
		out = line
	}
	ctx := c.interruptible()
	works := doctor.Report(ctx, doctorChecks(again), out)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if !works {
		fmt.Fprintln(c.stdout, "zf run does not work here: see BAD")
		return status(exitMachine)
	}
	fmt.Fprintln(c.stdout, "zf run works here")
	return nil
}

// doctorChecks are the lines of the report.
func doctorChecks(again bool) []doctor.Check {
	gdb, noGDB := findGDB()
	all := []doctor.Check{
		{Name: "go", Needed: true, Run: checkGo},
		{Name: "kernel", Needed: true, Run: checkKernel},
		{Name: "qemu", Needed: true, Run: checkQEMU},
		{Name: "accelerator", Needed: true, Run: checkAccel(again)},
		{Name: "temporary", Needed: true, Run: doctor.Temporary},
		{Name: "cache", Run: doctor.Cache},
		{Name: "firmware", Run: checkFirmware},
		{Name: "grub", Run: doctor.Grub},
		{Name: "gdb", Run: doctor.GDB(gdb, noGDB)},
		{Name: "dlv", Run: doctor.Delve},
		{Name: "serial", Run: doctor.Serial("/dev")},
		{Name: "debuginfod", Run: doctor.Debuginfod},
	}
	if lean {
		all = append(all, doctor.Check{Name: "debugger", Run: checkDebugger})
	}
	return all
}

// checkDebugger looks for zf-debugger, as a run does at a death.
func checkDebugger(ctx context.Context) doctor.Finding {
	path, err := image.Companion(ctx, "tools/zf", debuggerName, nil)
	if err != nil {
		return doctor.Missing("%v", err)
	}
	return doctor.Found("%s", path)
}

func checkGo(ctx context.Context) doctor.Finding {
	version, err := image.CheckGo(ctx)
	if err != nil {
		return doctor.Wrong("%v", err)
	}
	path, _ := exec.LookPath("go")
	return doctor.Found("%s, %s", version, path)
}

func checkKernel(ctx context.Context) doctor.Finding {
	dir, err := image.CheckKernel(ctx)
	if err != nil {
		return doctor.Wrong("%v", err)
	}
	return doctor.Found("source in %s", dir)
}

func checkQEMU(ctx context.Context) doctor.Finding {
	path, err := qemu.Find()
	if err != nil {
		return doctor.Missing("%v", err)
	}
	version, err := doctor.Version(ctx, path, "--version")
	if err != nil {
		return doctor.Wrong("%v", err)
	}
	return doctor.Found("%s, %s", version, path)
}

// checkAccel checks QEMU's accelerators. A failure that is remembered is one unless it is to be
// tried again; what has worked is tried in any case, which takes no time if it still does.
func checkAccel(again bool) func(context.Context) doctor.Finding {
	return func(ctx context.Context) doctor.Finding {
		path, err := qemu.Find()
		if err != nil {
			return doctor.Missing("without QEMU there is none")
		}
		if err := qemu.ProbeAccel(ctx, path, "tcg"); err != nil {
			if errors.Is(err, qemu.ErrAccel) {
				return doctor.Wrong("%v; install QEMU again, with its firmware (SeaBIOS)", err)
			}
			return doctor.Wrong("%v", err)
		}
		best, err := qemu.ChooseAccel(ctx, path, again)
		if err == nil && !again && best.Name != "tcg" {
			best, err = qemu.ChooseAccel(ctx, path, true)
		}
		switch {
		case err != nil:
			return doctor.Wrong("%v", err)
		case best.Name != "tcg":
			return doctor.Found("tcg and %s work", best.Name)
		case !again && strings.Contains(best.Why, "(tried on "):
			best.Why += "; zf doctor -again tries it once more"
		}
		return doctor.Found("tcg works; no faster one: %s", best.Why)
	}
}

func checkFirmware(context.Context) doctor.Finding {
	path, err := qemu.FindUEFI()
	if err != nil {
		return doctor.Missing("for zf run -uefi: %v", err)
	}
	return doctor.Found("%s", path)
}

// gdbVariable is the environment variable that names another gdb.
const gdbVariable = "ZF_GDB"

// findGDB returns the path of a gdb that runs Python commands.
func findGDB() (string, error) {
	return findProgram("gdb", gdbVariable, host.InstallHint("install the package gdb", "gdb"))
}

// findProgram returns the path of a program, or of the one that an environment variable names
// instead. hint says how to get it.
func findProgram(name, variable, hint string) (string, error) {
	if other := os.Getenv(variable); other != "" {
		path, err := exec.LookPath(other)
		if err != nil {
			err = fmt.Errorf("$%s is %s, which cannot be run; correct it or unset it", variable, other)
		}
		return path, err
	}
	path, err := exec.LookPath(name)
	if err != nil {
		err = fmt.Errorf("no %s in PATH; %s", name, hint)
	}
	return path, err
}

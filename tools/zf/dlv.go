//go:build !lean

package main

// `zf dlv`: Delve on a program that runs (dlvlive.go), on a recording (dlvrecording.go), and on a
// core file, with the ELF file and the sources where they are.

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

const dlvText = `Dlv boots a main package, or an image made by zf build, in QEMU, and is in Delve
before the Go runtime begins. Or it starts Delve on a recording, or on a full
core file, of zf run -core or of an ordinary Linux program, after it has seen
that the core is whole and of that ELF file.

  zf dlv . -- ARGS                   then break main.main, continue, next, step,
                                     locals, goroutines, restart

  zf dlv hello.core                  then goroutines -t, goroutine 18, frame 2,
                                     locals, args, print list.next

  zf dlv crash.zfr                   on a recording of zf run -record: break,
                                     continue, next, rewind, rev next

A package is built as dlv debug does, with -gcflags 'all=-N -l'; -gcflags= has
it optimised. The machine has one CPU, and the program's standard input is
empty: Delve's commands may come from a pipe. With -listen ADDR an editor
connects to Delve, by DAP or as a Delve of its own.

A recording begins at the Go runtime's first instruction, too, and nothing can
be changed in it. Going back replays it from the beginning. Delve goes back only
where /proc/sys/kernel/perf_event_paranoid is 1 or less, as rr needs it.

What zf goroutines, zf print and zf heap show needs no Delve installed; this is
for looking around. The environment variable ZF_DLV names another dlv. Exit
status: 0; 1 dlv ended with an error; 2 wrong usage, or the core is not what it
should be; 3 no dlv there.`

// dlvVariable is the environment variable that names another dlv.
const dlvVariable = "ZF_DLV"

type dlvFlags struct {
	dead
	sources   []source.Remap
	arguments []string
	trust     bool // of a recording: QEMU gets whatever it says
	reverse   bool // Delve takes us for rr, whatever this host is set to
	live      gdbFlags
	listen    string // where Delve waits for an editor
}

func runDlv(c *call) error {
	var f dlvFlags
	if err := f.parse(c); err != nil {
		return err
	}
	switch {
	case f.live.target != "":
		return f.runDlvLive(c)
	case isRecording(f.path):
		return f.runDlvRecording(c)
	}
	if !f.force {
		if err := inspect.Check(f.path, f.elf); err != nil {
			return err
		}
	}
	dlv, err := findDlv()
	if err != nil {
		return err
	}
	tmp, err := c.folder()
	if err != nil {
		return err
	}
	cmd, err := f.command([]string{"core", f.elf, f.path}, tmp)
	if err != nil {
		return err
	}
	ctx, stop := c.leaveInterrupts()
	defer stop()
	return c.onTerminal(ctx, dlv, cmd)
}

// leaveInterrupts leaves ^C to Delve. The context ends with the other signals that end a program.
func (c *call) leaveInterrupts() (context.Context, context.CancelFunc) {
	c.deaf()
	return signal.NotifyContext(c.ctx, syscall.SIGTERM, syscall.SIGHUP)
}

// command adds to Delve's command what the flags say. A file in the folder tmp tells it where the
// sources are.
func (f *dlvFlags) command(cmd []string, tmp string) ([]string, error) {
	if f.listen != "" {
		cmd = append(cmd, "--headless", "--listen="+f.listen)
	} else { // commands may come from a pipe, which no program reads here
		cmd = append(cmd, "--allow-non-terminal-interactive=true")
	}
	if len(f.sources) == 0 {
		return append(cmd, f.arguments...), nil
	}
	var init strings.Builder
	for _, s := range f.sources {
		fmt.Fprintf(&init, "config substitute-path %q %q\n", s.Old, s.New)
	}
	path := filepath.Join(tmp, "init")
	cmd = append(append(cmd, "--init", path), f.arguments...)
	return cmd, os.WriteFile(path, []byte(init.String()), 0o600)
}

// findDlv returns the path of Delve's command.
func findDlv() (string, error) {
	path, err := findProgram("dlv", dlvVariable,
		"install it with: go install github.com/go-delve/delve/cmd/dlv@latest")
	if err != nil {
		err = failure{err, exitMachine}
	}
	return path, err
}

func (f *dlvFlags) parse(c *call) error {
	trustFlag(c.FlagSet, &f.trust)
	f.live = gdbFlags{runFlags: runFlags{machine: machine{streams: c.streams}}}
	f.live.debuggedFlags(c)
	err := c.parse([]option{
		{&f.elf, "e", deadUsage},
		{remapping(&f.sources), "source",
			"look for sources named under OLD under NEW: `OLD=NEW`; may be given\nmany times"},
		{&f.arguments, "dlv", "pass `ARG` to dlv, such as -dlv --init=FILE; may be given many times"},
		{&f.force, "force", "do not look at the core first"},
		{&f.reverse, "reverse",
			"of a recording: go backwards, too, with a Delve that does not ask this\nhost's settings"},
		{&f.listen, "listen",
			"start no prompt: an editor connects to Delve at `ADDR`, such as\n127.0.0.1:2345"},
	})
	if err != nil {
		return err
	}
	if err := wrongListen(f.listen, "127.0.0.1:2345"); err != nil {
		return err
	}
	if f.isLive(c.Args()) {
		return f.parseLive(c)
	}
	inputs, err := c.others(nil)
	if err != nil {
		return err
	}
	if len(inputs) == 0 {
		return c.wrong("want a main package, an image, a recording or a core")
	}
	if i := slices.IndexFunc(inputs, isRecording); i >= 0 && (f.elf != "" || len(inputs) > 1) {
		return fmt.Errorf("%s: one recording at a time, and without -e: its image is in it", inputs[i])
	} else if i >= 0 {
		f.path = inputs[i]
		return nil
	}
	return f.of(c, "core", inputs)
}

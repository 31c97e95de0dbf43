package main

// `zf dlv`: Delve on a core file, with the ELF file and the sources where they are.

import (
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

const dlvText = `Dlv starts Delve on a full core file, of zf run -core or of an ordinary Linux
program, after it has seen that the core is whole and of that ELF file.

  zf dlv -e hello.elf hello.core     then goroutines -t, goroutine 18, frame 2,
                                     locals, args, print list.next

  zf dlv crash.zfr                   on a recording of zf run -record: break,
                                     continue, next, rewind, rev next

A recording begins at the Go runtime's first instruction. Nothing can be changed
in it, nor called. Going back replays it from the beginning. Delve goes back
only where /proc/sys/kernel/perf_event_paranoid is 1 or less, as rr needs it.

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
}

func runDlv(c *call) error {
	var f dlvFlags
	if err := f.parse(c); err != nil {
		return err
	}
	if isRecording(f.path) {
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
	cmd, err := f.withSources([]string{"core", f.elf, f.path}, tmp)
	if err != nil {
		return err
	}
	c.deaf() // ^C is Delve's
	ctx, stop := signal.NotifyContext(c.ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return c.onTerminal(ctx, dlv, append(cmd, f.arguments...))
}

// withSources adds what tells Delve where the sources are, by a file in a folder.
func (f *dlvFlags) withSources(cmd []string, tmp string) ([]string, error) {
	if len(f.sources) == 0 {
		return cmd, nil
	}
	var init strings.Builder
	for _, s := range f.sources {
		fmt.Fprintf(&init, "config substitute-path %q %q\n", s.Old, s.New)
	}
	path := filepath.Join(tmp, "init")
	return append(cmd, "--init", path), os.WriteFile(path, []byte(init.String()), 0o600)
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
	inputs, err := c.parseMixed([]option{
		{&f.elf, "e", elfUsage},
		{remapping(&f.sources), "source",
			"look for sources named under OLD under NEW: `OLD=NEW`; may be given\nmany times"},
		{&f.arguments, "dlv", "pass `ARG` to dlv, such as -dlv --init=FILE; may be given many times"},
		{&f.force, "force", "do not look at the core first"},
		{&f.reverse, "reverse",
			"of a recording: go backwards, too, with a Delve that does not ask this\nhost's settings"},
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(inputs, isRecording); i >= 0 && (f.elf != "" || len(inputs) > 1) {
		return fmt.Errorf("%s: one recording at a time, and without -e: its image is in it", inputs[i])
	} else if i >= 0 {
		f.path = inputs[i]
		return nil
	}
	return f.of(c, "core", inputs)
}

package main

// `zf dlv`: Delve on a core file, with the ELF file and the sources where they are.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/source"
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
	elf, core string
	sources   []source.Remap
	arguments []string
	force     bool
	recording bool // core is one of zf run -record
	trust     bool // of a recording: QEMU gets whatever it says
	reverse   bool // Delve takes us for rr, whatever this host is set to
}

func runDlv(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseDlv(args, stderr)
	if !ok {
		return code
	}
	if f.recording {
		return f.runDlvRecording(stdin, stdout, stderr)
	}
	fail := failing("zf dlv", stderr)
	if !f.force {
		if err := inspect.Check(f.core, f.elf); err != nil {
			return fail("%v", err)
		}
	}
	dlv, err := findDlv()
	if err != nil {
		fmt.Fprintf(stderr, "zf dlv: %v\n", err)
		return exitMachine
	}
	cmd := []string{"core", f.elf, f.core}
	if len(f.sources) > 0 {
		tmp, err := os.MkdirTemp("", "zf-dlv")
		if err != nil {
			return fail("%v", err)
		}
		defer os.RemoveAll(tmp)
		if cmd, err = f.withSources(cmd, tmp); err != nil {
			return fail("%v", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return onTerminal(ctx, "dlv", dlv, append(cmd, f.arguments...), stdin, stdout, stderr)
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
	if name := os.Getenv(dlvVariable); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("$%s is %s, which cannot be run; correct it or unset it", dlvVariable, name)
		}
		return path, nil
	}
	path, err := exec.LookPath("dlv")
	if err != nil {
		return "", errors.New("no dlv in PATH; install it with: go install github.com/go-delve/delve/cmd/dlv@latest")
	}
	return path, nil
}

func parseDlv(args []string, stderr io.Writer) (f dlvFlags, code int, ok bool) {
	fs := newFlags("dlv", "[flags] -e ELF CORE | FILE.zfr", dlvText, stderr)
	fs.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	fs.Func("source", "look for sources named under OLD under NEW: `OLD=NEW`; may be given\nmany times", func(s string) error {
		r, err := source.ParseRemap(s)
		f.sources = append(f.sources, r)
		return err
	})
	fs.Func("dlv", "pass `ARG` to dlv, such as -dlv --init=FILE; may be given many times", func(s string) error {
		f.arguments = append(f.arguments, s)
		return nil
	})
	fs.BoolVar(&f.force, "force", false, "do not look at the core first")
	trustFlag(fs, &f.trust)
	fs.BoolVar(&f.reverse, "reverse", false, "of a recording: go backwards, too, with a Delve that does not ask this\nhost's settings")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return f, code, false
	}
	if f.elf == "" && len(inputs) == 1 && filepath.Ext(inputs[0]) == recordingSuffix {
		f.core, f.recording = inputs[0], true
		return f, exitOK, true
	}
	for _, in := range inputs {
		if filepath.Ext(in) == recordingSuffix {
			fmt.Fprintf(stderr, "zf dlv: %s: one recording at a time, and without -e: its image is in it\n", in)
			return f, exitUsage, false
		}
	}
	if f.core, ok = oneInput("dlv", "core", f.elf, inputs, stderr); !ok {
		return f, exitUsage, false
	}
	return f, exitOK, true
}

package main

// `zf trace`: what the CPUs did before a death, on a line of time.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/input"
	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/timeline"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
)

const timelineText = `Trace writes what the CPUs did last before a death for a viewer: system calls,
faults, interrupts, switches of threads, waits for the kernel lock. Open FILE at
https://ui.perfetto.dev, which sends it nowhere, or in chrome://tracing; with go
tool trace if its name ends in .trace or .out.

  zf trace -e hello.elf -o hello.json serial.log
  zf trace -e hello.elf -o hello.trace hello.core
  go tool trace hello.trace

Of a log these are the events that the traces carry: those of the CPU that died,
as many as the kernel's option last=N says. A full core (zf run -core) has the
latest 128 of each CPU. Of several traces in a log, one stands behind the other.

In Go's format a CPU is a P, and each thread of the kernel is a goroutine of its
number: the kernel knows nothing of the program's own goroutines. What Go has no
event for is a log message; a system call that blocked is a region.

With -flight it is what the program's own flight recorder (runtime/trace) has:
Go's trace of its goroutines up to the death. That needs a full core.

  zf trace -flight -e hello.elf -o hello.trace hello.core`

// What -format takes.
const (
	formatPerfetto = "perfetto"
	formatGo       = "go"
)

func runTrace(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var elf, out, format string
	var force, flight bool
	fs := newFlags("trace", "-e ELF [-o FILE] [flags] LOG|CORE", timelineText, stderr)
	fs.StringVar(&elf, "e", "", "the `ELF` file that was running")
	fs.StringVar(&out, "o", "-", "write to `FILE`; - is standard output")
	fs.StringVar(&format, "format", "", "`FORMAT` of FILE, perfetto or go (default: go if it ends in .trace or\n.out, else perfetto)")
	fs.BoolVar(&flight, "flight", false, "write what the program's trace.FlightRecorder has, from a full core")
	fs.BoolVar(&force, "force", false, "take a log or a core of another build, too")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return code
	}
	from, ok := oneInput("trace", "log or core", elf, inputs, stderr)
	if !ok {
		return exitUsage
	}
	if samePath(out, from) || samePath(out, elf) {
		fmt.Fprintf(stderr, "zf trace: -o %s would overwrite what is read; name another file\n", out)
		return exitUsage
	}
	if format == "" {
		format = formatPerfetto
		if ext := filepath.Ext(out); ext == ".trace" || ext == ".out" {
			format = formatGo
		}
	}
	write, viewer := timeline.WritePerfetto, "open it at https://ui.perfetto.dev"
	switch format {
	case formatPerfetto:
	case formatGo:
		write, viewer = timeline.WriteGo, "go tool trace "+out+" shows it"
	default:
		fmt.Fprintf(stderr, "zf trace: -format %s: want %s or %s\n", format, formatPerfetto, formatGo)
		return exitUsage
	}
	fail := failing("zf trace", stderr)
	if flight {
		if format == formatPerfetto && formatGiven(fs) {
			fmt.Fprintln(stderr, "zf trace: -flight writes Go's format alone; leave -format perfetto out")
			return exitUsage
		}
		if err := writeFlight(from, elf, out, force, stdout, stderr); err != nil {
			return fail("%v", err)
		}
		return exitOK
	}
	all, err := timelines(from, elf, force, stdin, stderr)
	switch {
	case err != nil:
		return fail("%v", err)
	case len(all) == 0:
		return fail("%s has no trace with events: the kernel's option last= says how many a death has", from)
	}
	if out == "-" {
		err = write(stdout, all)
	} else {
		err = writeFile(out, func(w io.Writer) error { return write(w, all) })
	}
	if err != nil {
		return fail("%v", err)
	}
	if out != "-" {
		fmt.Fprintf(stderr, "zf trace: wrote %s; %s\n", out, viewer)
	}
	return exitOK
}

// formatGiven reports whether the command line has -format.
func formatGiven(fs *flag.FlagSet) (given bool) {
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "format" })
	return given
}

// writeFlight writes what the flight recorder of a core's program has.
func writeFlight(from, elf, out string, force bool, stdout, stderr io.Writer) error {
	p, err := openProgram("zf trace", from, elf, force, stderr)
	if errors.Is(err, inspect.ErrNotCore) {
		return fmt.Errorf("-flight: %w; a log does not have the program's memory: zf run -core makes a core", err)
	}
	if err != nil {
		return err
	}
	defer p.Close()
	sym, err := openSymbols(elf)
	if err != nil {
		return err
	}
	defer sym.Close()
	var b bytes.Buffer
	f, err := p.WriteFlight(&b, func(pc uint64) []lookup.Call { return sym.Lookup(pc, true) })
	if err != nil {
		return err
	}
	if err := writeTo(out, stdout, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return err
	}
	if f.Without != "" {
		fmt.Fprintf(stderr, "zf trace: the last part, up to a second before the death, is missing: %s\n", f.Without)
	}
	if out != "-" {
		fmt.Fprintf(stderr, "zf trace: wrote %s; go tool trace %s shows it\n", out, out)
	}
	return nil
}

// timelines returns those of a core or of the traces in a log.
func timelines(from, elf string, force bool, stdin io.Reader, stderr io.Writer) (all []timeline.Timeline, err error) {
	sym, err := openSymbols(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	p, err := openProgram("zf trace", from, elf, force, stderr)
	if err == nil {
		defer p.Close()
		l, err := timeline.OfCore(elf, func(b []byte, addr uint64) error {
			_, err := p.Target().Memory().ReadMemory(b, addr)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := range l.CPUs {
			for j := range l.CPUs[i].Events {
				e := &l.CPUs[i].Events[j]
				if pc, ok := e.PC(); ok {
					e.Calls = sym.Lookup(pc, false)
				}
			}
		}
		return []timeline.Timeline{l}, nil
	}
	if from != "-" && !errors.Is(err, inspect.ErrNotCore) {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in, err := input.Open(ctx, from, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never, Stdin: stdin})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	filter, err := trace.NewFilter(nil, trace.Options{
		Symbols: sym, Force: force, Log: stderr,
		OnTrace: func(t *wire.Trace) {
			if l, ok := timeline.OfTrace(t); ok {
				all = append(all, l)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(filter, in); err == nil {
		err = filter.Close()
	}
	return all, err
}

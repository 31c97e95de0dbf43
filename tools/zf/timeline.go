package main

// `zf trace`: what the CPUs did before a death, on a line of time.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/input"
	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/timeline"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
)

const timelineText = `Trace writes what the CPUs did last before a death for a viewer: system calls,
faults, interrupts, switches of threads, waits for the kernel lock. Open FILE at
https://ui.perfetto.dev, which sends it nowhere, or in chrome://tracing; one that
ends in .trace or .out with go tool trace.

  zf trace -e hello.elf -o hello.json serial.log
  zf trace -e hello.elf -o hello.trace hello.core
  go tool trace hello.trace

Of a log these are the events that the traces carry: those of the CPU that died,
as many as the kernel's option last=N says. A full core (zf run -core) has the
latest 128 of each CPU. Of several traces in a log, one stands behind the other.

In Go's format a CPU is a P, and each thread of the kernel is a goroutine of its
number: the kernel knows nothing of the program's own goroutines. What Go's trace
has no event for is a log message; a system call that blocked is a region.`

// What -format takes.
const (
	formatPerfetto = "perfetto"
	formatGo       = "go"
)

func runTrace(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var elf, out, format string
	var force bool
	fs := newFlags("trace", "-e ELF [-o FILE] [flags] LOG|CORE", timelineText, stderr)
	fs.StringVar(&elf, "e", "", "the `ELF` file that was running")
	fs.StringVar(&out, "o", "-", "write to `FILE`; - is standard output")
	fs.StringVar(&format, "format", "", "`FORMAT` of FILE, perfetto or go (default: go if it ends in .trace or\n.out, else perfetto)")
	fs.BoolVar(&force, "force", false, "take a log or a core of another build, too")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return code
	}
	from, ok := oneInput("trace", "log or core", elf, inputs, stderr)
	if !ok {
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

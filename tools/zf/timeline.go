//go:build !lean

package main

// `zf trace`: what the CPUs did before a death, on a line of time.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const timelineText = `Trace writes what the CPUs did last before a death for a viewer: system calls,
faults, interrupts, switches of threads, waits for the kernel lock. Open FILE at
https://ui.perfetto.dev, which sends it nowhere, or in chrome://tracing.

  zf trace -e hello.elf -o hello.json serial.log
  zf trace -o hello.json hello.core

Of a log these are the events that the traces carry: those of the CPU that died,
as many as the kernel's option last=N says. A full core (zf run -core) has the
latest 128 of each CPU. Of several traces in a log, one stands behind the other.

With -flight it is what the program's own flight recorder (runtime/trace) has:
Go's trace of its goroutines up to the death. That needs a full core.

  zf trace -flight -o hello.trace hello.core`

func runTrace(c *call) error {
	var d dead
	var flight bool
	out := "-"
	if err := d.parse(c, "log or core", "take a log or a core of another build, too", []option{
		{&out, "o", "write to `FILE`; - is standard output"},
		{&flight, "flight", "write what the program's trace.FlightRecorder has, from a full core"},
	}); err != nil {
		return err
	}
	if samePath(out, d.path) || samePath(out, d.elf) {
		return fmt.Errorf("-o %s would overwrite what is read; name another file", out)
	}
	if flight {
		return d.writeFlight(c, out)
	}
	all, err := d.timelines(c.ctx, &c.streams)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return fmt.Errorf(
			"%s has no trace with events: the kernel's option last= says how many a death has", d.path)
	}
	if err := writeTo(out, c.stdout, func(w io.Writer) error {
		return trace.WritePerfetto(w,
			all)
	}); err != nil {
		return err
	}
	if out != "-" {
		c.say("wrote %s; open it at https://ui.perfetto.dev", out)
	}
	return nil
}

// writeFlight writes what the flight recorder of a core's program has.
func (d *dead) writeFlight(c *call, out string) error {
	p, err := d.open(&c.streams)
	if errors.Is(err, inspect.ErrNotCore) {
		return fmt.Errorf(
			"-flight: %w; a log does not have the program's memory: zf run -core makes a core", err)
	}
	if err != nil {
		return err
	}
	defer p.Close()
	sym, err := openSymbols(d.elf)
	if err != nil {
		return err
	}
	defer sym.Close()
	var b bytes.Buffer
	f, err := p.WriteFlight(&b, func(pc uint64) []lookup.Call { return sym.Lookup(pc, true) })
	if err != nil {
		return err
	}
	if err := writeBytes(out, c.stdout, &b); err != nil {
		return err
	}
	if f.Without != "" {
		c.say("the last part, up to a second before the death, is missing: %s", f.Without)
	}
	if out != "-" {
		c.say("wrote %s; go tool trace %[1]s shows it", out)
	}
	return nil
}

// timelines returns those of a core or of the traces in a log.
func (d *dead) timelines(ctx context.Context, s *streams) (all []trace.Timeline, err error) {
	sym, err := openSymbols(d.elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	p, err := d.open(s)
	if err != nil {
		if !d.isLog(err) {
			return nil, err
		}
		err = s.readLog(ctx, d.path, nil, trace.Options{Symbols: sym, Force: d.force,
			OnTrace: func(t *wire.Trace) {
				if l, ok := trace.OfTrace(t); ok {
					all = append(all, l)
				}
			}})
		return all, err
	}
	defer p.Close()
	l, err := trace.OfCore(d.elf, func(b []byte, addr uint64) error {
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
	return []trace.Timeline{l}, nil
}

//go:build !lean

package main

// `zf goroutines`: a core file, or a log with a traceback -> the goroutines.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/waits"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const goroutinesText = `Goroutines lists the goroutines of a program that has died, with their stacks:
number, state, why each waits, labels of package pprof, who created it. Those
that stand at the same place are a group.

  zf goroutines hello.core
  zf goroutines -e hello.elf -blocked serial.log

CORE is a full core file: of zf run -core, or of an ordinary Linux program, by
the kernel, gdb's gcore or Delve's dump. LOG has what the program itself said: a
traceback of Go's, such as a panic or SIGQUIT (^\) prints, and Zeroframe's
traces, whose goroutine is added. - is standard input, and a log.

As in Go's own traceback the runtime's functions are left out of a stack, unless
the goroutine is the runtime's. -t shows every frame, each goroutine by itself.
The numbers of a core's frames are those for zf print -frame.

"since" is the time of the machine's clock at which the garbage collector has
first met the goroutine waiting; most have not waited for so long.

Of a core, what keeps the program from going on stands above the list, such as
two goroutines that wait for each other's locks: zf waits -h says more.

With -json each goroutine is an object in a line: id, state, wait, since (in
ns), labels, frames, created_by, parent, waits_for.`

type goroutinesFlags struct {
	dead
	json, running, blocked, hang bool
	view                         inspect.View
}

func runGoroutines(c *call) error {
	var f goroutinesFlags
	if err := f.parse(c, "core or log", "take a core or a trace of another build, too", []option{
		{&f.json, "json", "write JSON, one object a line, one a goroutine"},
		{&f.running, "running", "only those that ran or were in a system call"},
		{&f.blocked, "blocked", "only those that waited; with -running, both"},
		{&f.view.All, "t", "every frame, the runtime's too; no groups"},
		{&f.view.Columns, "k", "in the columns of a Windows debugger's k"},
		{&f.hang, "hang", "the program had done nothing for long: see zf waits -h"},
	}); err != nil {
		return err
	}
	all, graph, err := f.read(c.ctx, &c.streams)
	if err != nil {
		return err
	}
	return f.show(c.stdout, all, graph)
}

// show writes the goroutines that are wanted, below what keeps them from going on.
func (f *goroutinesFlags) show(w io.Writer, all []*inspect.Goroutine, graph *waits.Graph) error {
	if f.running || f.blocked {
		all = slices.DeleteFunc(all, func(g *inspect.Goroutine) bool {
			return !(f.running && g.Running() || f.blocked && g.Blocked())
		})
	}
	if f.json {
		return inspect.WriteJSON(w, all)
	}
	if graph != nil && len(graph.Findings) > 0 {
		for _, x := range graph.Findings {
			fmt.Fprintln(w, printable(x.Text))
		}
		fmt.Fprintln(w)
	}
	return inspect.Write(w, all, f.view)
}

// read returns the goroutines of the core or the log, and of a core who waits for whom.
func (f *goroutinesFlags) read(ctx context.Context,
	s *streams) ([]*inspect.Goroutine, *waits.Graph, error) {
	p, err := f.open(s)
	if err != nil {
		if !f.isLog(err) {
			return nil, nil, err
		}
		all, err := f.ofLog(ctx, s)
		return all, nil, err
	}
	defer f.close(p)
	f.view.Numbers = true // for zf print
	all, err := p.Goroutines()
	if err != nil {
		return nil, nil, err
	}
	graph, err := waitsIn(p, f.elf, waits.Options{Hang: f.hang})
	switch {
	case errors.Is(err, waits.ErrNotBegun):
		s.say("%v", err)
		return all, nil, nil
	case err != nil:
		s.say("note: who waits for whom is not known: %v", err)
		return all, nil, nil
	}
	for _, g := range all {
		if w := graph.WaitsFor(g.ID); w != nil {
			g.WaitsFor = w
		}
	}
	return all, graph, nil
}

// ofLog returns the goroutines that a log has: those of Go's own traceback, and of our traces.
func (f *goroutinesFlags) ofLog(ctx context.Context, s *streams) ([]*inspect.Goroutine, error) {
	sym, err := openSymbols(f.elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	traced := map[int64]*inspect.Goroutine{}
	r, w := io.Pipe()
	done := make(chan struct{})
	var all []*inspect.Goroutine
	var readErr error
	go func() {
		defer close(done)
		all, readErr = inspect.ReadTraceback(r)
		io.Copy(io.Discard, r)
	}()
	err = s.readLog(ctx, f.path, w, trace.Options{Symbols: sym, Force: f.force,
		OnTrace: func(t *wire.Trace) {
			if g := ofTrace(t); g != nil {
				traced[g.ID] = g
			}
		}})
	w.Close()
	<-done
	if err = errors.Join(err, readErr); err != nil {
		return nil, err
	}
	for _, g := range all {
		delete(traced, g.ID)
	}
	all = slices.AppendSeq(all, maps.Values(traced))
	if len(all) == 0 {
		return nil, fmt.Errorf(
			"%s is no core file, and no log with goroutines; GOTRACEBACK=all in the program's environment makes Go list them", f.path)
	}
	slices.SortStableFunc(all, func(a, b *inspect.Goroutine) int { return int(a.ID - b.ID) })
	return all, nil
}

// ofTrace makes a goroutine of a trace of ours; nil if it is not of one.
func ofTrace(t *wire.Trace) *inspect.Goroutine {
	if t.Goroutine == 0 || t.Goroutine > 1<<62 || t.Format != "" {
		return nil
	}
	g := &inspect.Goroutine{ID: int64(t.Goroutine), State: "running"}
	if t.Damaged {
		g.Error = "the trace is damaged: " + t.Damage
	}
	for i := range t.Frames {
		f := &t.Frames[i]
		calls := f.Calls
		if len(calls) == 0 && f.Address != 0 {
			calls = make([]lookup.Call, 1) // what is there is not known
		}
		for _, c := range calls {
			g.Frames = append(g.Frames, inspect.Frame{
				Address: inspect.Hex(f.Address), FP: inspect.Hex(f.FP), Function: c.Function, Offset: c.Offset,
				File: c.File, Line: c.Line, Inlined: c.Inlined,
			})
		}
	}
	return g
}

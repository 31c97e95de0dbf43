package main

// `zf goroutines`: a core file, or a log with a traceback -> the goroutines.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/input"
	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/waits"
	"github.com/zeroframe/zeroframe/tools/wire"
)

const goroutinesText = `Goroutines lists the goroutines of a program that has died, with their stacks:
number, state, why each waits, labels of package pprof, who created it. Those
that stand at the same place are a group.

  zf goroutines -e hello.elf hello.core
  zf goroutines -e hello.elf -blocked serial.log

CORE is a full core file: of zf run -core, or of an ordinary Linux program, by
the kernel, gdb's gcore or Delve's dump. LOG has what the program itself said: a
traceback of Go's, such as a panic or SIGQUIT (^\) prints, and Zeroframe's
traces, whose goroutine is added. - is standard input, and a log.

As in Go's own traceback the runtime's functions are left out of a stack, unless
the goroutine is the runtime's. -t shows every frame, each goroutine by itself.

"since" is the time of the machine's clock at which the garbage collector has
first met the goroutine waiting; most have not waited for so long.

Of a core, what keeps the program from going on stands above the list, such as
two goroutines that wait for each other's locks: zf waits -h says more.

With -json each goroutine is an object in a line: id, state, wait, since (in
ns), labels, frames, created_by, parent, waits_for.`

type goroutinesFlags struct {
	command                       string // for messages
	elf, input                    string
	json, running, blocked, force bool
	dot, hang                     bool
	view                          inspect.View
}

func runGoroutines(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseGoroutines(args, stderr)
	if !ok {
		return code
	}
	fail := failing("zf goroutines", stderr)
	all, graph, err := f.read(stdin, stderr)
	if err != nil {
		return fail("%v", err)
	}
	if f.dot {
		if graph == nil {
			return fail("-dot: who waits for whom is known of a core alone, and %s gives no graph", f.input)
		}
		if err := graph.WriteDOT(stdout); err != nil {
			return fail("%v", err)
		}
		return exitOK
	}
	if err := f.show(stdout, all, graph); err != nil {
		return fail("%v", err)
	}
	return exitOK
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
func (f *goroutinesFlags) read(stdin io.Reader, stderr io.Writer) ([]*inspect.Goroutine, *waits.Graph, error) {
	p, err := openProgram(f.command, f.input, f.elf, f.force, stderr)
	if err == nil {
		defer p.Close()
		all, err := p.Goroutines()
		if err != nil {
			return nil, nil, err
		}
		graph, err := waitsIn(p, f.elf, waits.Options{Hang: f.hang})
		if errors.Is(err, waits.ErrNotBegun) {
			fmt.Fprintf(stderr, "%s: %v\n", f.command, err)
			return all, nil, nil
		}
		if err != nil {
			fmt.Fprintf(stderr, "%s: note: who waits for whom is not known: %v\n", f.command, err)
			return all, nil, nil
		}
		for _, g := range all {
			if w := graph.WaitsFor(g.ID); w != nil {
				g.WaitsFor = w
			}
		}
		return all, graph, nil
	}
	if f.input != "-" && !errors.Is(err, inspect.ErrNotCore) {
		return nil, nil, err
	}
	all, err := f.ofLog(stdin, stderr)
	return all, nil, err
}

// openProgram opens a core file, and says if nothing proves that it is of the ELF file.
func openProgram(command, core, elf string, force bool, stderr io.Writer) (*inspect.Program, error) {
	p, err := inspect.Open(core, elf, force)
	if err == nil && !force && !p.BuildKnown() {
		fmt.Fprintf(stderr, "%s: the core does not say of which build it is; %s is taken for it\n", command, elf)
	}
	return p, err
}

// ofLog returns the goroutines that a log has: those of Go's own traceback, and of our traces.
func (f *goroutinesFlags) ofLog(stdin io.Reader, stderr io.Writer) ([]*inspect.Goroutine, error) {
	sym, err := openSymbols(f.elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in, err := input.Open(ctx, f.input, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never, Stdin: stdin})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	traced := map[int64]*inspect.Goroutine{}
	filter, err := trace.NewFilter(nil, trace.Options{
		Symbols: sym, Force: f.force, Log: stderr,
		OnTrace: func(t *wire.Trace) {
			if g := ofTrace(t); g != nil {
				traced[g.ID] = g
			}
		},
	})
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	var all []*inspect.Goroutine
	var readErr error
	go func() {
		defer close(done)
		all, readErr = inspect.ReadTraceback(r)
		io.Copy(io.Discard, r)
	}()
	err = pump(ctx, twoSinks{filter, w}, in, nil)
	w.Close()
	<-done
	err = errors.Join(err, filter.Close(), readErr)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		delete(traced, g.ID)
	}
	for _, g := range traced {
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is no core file, and no log with goroutines; GOTRACEBACK=all in the program's environment makes Go list them", f.input)
	}
	slices.SortStableFunc(all, func(a, b *inspect.Goroutine) int { return int(a.ID - b.ID) })
	return all, nil
}

// twoSinks gives a log to the filter for traces, and its text to another reader.
type twoSinks struct {
	sink
	text io.Writer
}

func (s twoSinks) Write(b []byte) (int, error) {
	if n, err := s.text.Write(b); err != nil {
		return n, err
	}
	return s.sink.Write(b)
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
		for k := range f.Calls {
			c := &f.Calls[k]
			g.Frames = append(g.Frames, inspect.Frame{
				Address: inspect.Hex(f.Address), FP: inspect.Hex(f.FP), Function: c.Function, Offset: c.Offset,
				File: c.File, Line: c.Line, Inlined: c.Inlined,
			})
		}
		if len(f.Calls) == 0 && f.Address != 0 {
			g.Frames = append(g.Frames, inspect.Frame{Address: inspect.Hex(f.Address), FP: inspect.Hex(f.FP)})
		}
	}
	return g
}

func parseGoroutines(args []string, stderr io.Writer) (f goroutinesFlags, code int, ok bool) {
	f.command = "zf goroutines"
	fs := newFlags("goroutines", "-e ELF [flags] CORE|LOG", goroutinesText, stderr)
	fs.StringVar(&f.elf, "e", "", "the `ELF` file that was running")
	fs.BoolVar(&f.json, "json", false, "write JSON, one object a line, one a goroutine")
	fs.BoolVar(&f.running, "running", false, "only those that ran or were in a system call")
	fs.BoolVar(&f.blocked, "blocked", false, "only those that waited; with -running, both")
	fs.BoolVar(&f.view.All, "t", false, "every frame, the runtime's too; no groups")
	fs.BoolVar(&f.view.Columns, "k", false, "in the columns of a Windows debugger's k")
	fs.BoolVar(&f.dot, "dot", false, "write who waits for whom, for Graphviz")
	fs.BoolVar(&f.hang, "hang", false, "the program had done nothing for long: see zf waits -h")
	fs.BoolVar(&f.force, "force", false, "take a core or a trace of another build, too")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return f, code, false
	}
	if f.input, ok = oneInput("goroutines", "core or log", f.elf, inputs, stderr); !ok {
		return f, exitUsage, false
	}
	return f, exitOK, true
}

// oneInput returns what stands behind the flags of a command that reads one file with an ELF.
func oneInput(command, what, elf string, inputs []string, stderr io.Writer) (string, bool) {
	wrong := ""
	switch {
	case elf == "":
		wrong = "-e ELF is missing: name the image that was running"
	case len(inputs) != 1:
		wrong = fmt.Sprintf("want one %s, have %d", what, len(inputs))
	default:
		return inputs[0], true
	}
	fmt.Fprintf(stderr, "zf %s: %s; `zf %s -h` lists the flags\n", command, wrong, command)
	return "", false
}

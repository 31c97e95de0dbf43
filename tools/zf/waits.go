package main

// `zf waits`: a core -> who waits for whom (tools/waits).

import (
	"fmt"
	"io"
	"strings"

	"github.com/zeroframe/zeroframe/tools/inspect"
	"github.com/zeroframe/zeroframe/tools/waits"
)

const waitsText = `Waits says what keeps a Go program that has stopped from going on: goroutines
that wait for each other's locks, channels that nobody serves, loops that wait
for a variable. CORE is a core of the whole program: of zf run -core, or one
that Linux, gcore or Delve has written. ELF is the program.

  zf waits -e hello.elf hello.core
  zf waits -e hello.elf -all hello.core       what each goroutine waits for
  zf waits -e hello.elf -svg w.svg hello.core  a picture

Only what is certain is named. While a goroutine can run, or waits for input, a
timer or a system call, it may serve any channel, and those alone are named who
wait in a ring of locks. If you know that the program has done nothing for long,
say -hang: then input, timers and system calls are taken to bring nothing.

The exit status is 1 if something is named, and 0 if not.`

func runWaits(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var elf, svg string
	var opt waits.Options
	var all, json, dot bool
	fs := newFlags("waits", "-e ELF [flags] CORE", waitsText, stderr)
	fs.StringVar(&elf, "e", "", "the `ELF` file that was running")
	fs.BoolVar(&opt.Hang, "hang", false, "the program has done nothing for long")
	fs.BoolVar(&all, "all", false, "say of each goroutine what it waits for")
	fs.BoolVar(&json, "json", false, "print JSON, an object a goroutine, then the findings")
	fs.BoolVar(&dot, "dot", false, "print the graph for Graphviz")
	fs.StringVar(&svg, "svg", "", "draw the graph into `FILE`; - is standard output")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return code
	}
	fail := failing("zf waits", stderr)
	switch {
	case elf == "":
		return fail("-e ELF is missing: name the program that was running; `zf waits -h` lists the flags")
	case len(inputs) != 1:
		return fail("want one core, have %d; `zf waits -h` says how to get one", len(inputs))
	}
	g, err := waitsOf(elf, inputs[0], opt)
	if err != nil {
		return fail("%v", err)
	}
	switch {
	case json:
		err = g.WriteJSON(stdout)
	case dot:
		err = g.WriteDOT(stdout)
	case svg != "":
		err = writeTo(svg, stdout, g.WriteSVG)
	default:
		err = g.WriteText(stdout, all)
	}
	if err != nil {
		return fail("%v", err)
	}
	if len(g.Findings) > 0 {
		return exitTrace
	}
	return exitOK
}

// waitsOf finds who waits for whom in a core.
func waitsOf(elf, path string, opt waits.Options) (g *waits.Graph, err error) {
	p, err := inspect.Open(path, elf, false)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return waitsIn(p, elf, opt)
}

// waitsIn finds who waits for whom in an open core.
func waitsIn(p *inspect.Program, elf string, opt waits.Options) (g *waits.Graph, err error) {
	sym, err := openSymbols(elf)
	if err != nil {
		return nil, err
	}
	defer sym.Close()
	defer func() {
		// A core may hold anything, and Delve's packages take much of it for granted.
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("the core is damaged, or of another program than %s (%v)", elf, r)
		}
	}()
	return waits.Analyze(p.Target(), sym, opt)
}

// sayWaits says behind a death who waits for whom, if that is why the program did not go on. reason
// is that of the trace.
func (c *fullCore) sayWaits(reason string) {
	hang := strings.HasPrefix(reason, "watchdog:")
	g, err := waitsOf(c.elf, c.path, waits.Options{Hang: hang})
	if err != nil {
		if hang || strings.Contains(reason, "all goroutines are asleep") {
			fmt.Fprintf(c.stderr, "%s: note: who waits for whom is not known: %v\n", c.command, err)
		}
		return
	}
	for _, f := range g.Findings {
		fmt.Fprintf(c.stderr, "%s: %s\n", c.command, printable(f.Text))
	}
}

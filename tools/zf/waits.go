//go:build !lean

package main

// `zf waits`: a core -> who waits for whom (tools/postmortem/waits).

import (
	"fmt"
	"strings"

	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
	"github.com/zeroframe/zeroframe/tools/postmortem/waits"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const waitsText = `Waits says what keeps a Go program that has stopped from going on: goroutines
that wait for each other's locks, channels that nobody serves, loops that wait
for a variable. CORE is a core of the whole program: of zf run -core, or one
that Linux, gcore or Delve has written. ELF is the program.

  zf waits hello.core
  zf waits -all hello.core         what each goroutine waits for
  zf waits -svg w.svg hello.core   a picture

Only what is certain is named. While a goroutine can run, or waits for input, a
timer or a system call, it may serve any channel, and those alone are named who
wait in a ring of locks. If you know that the program has done nothing for long,
say -hang: then input, timers and system calls are taken to bring nothing. Who
waits for a timer, or runs a finalizer, is blamed only if it has a lock.

The exit status is 1 if something is named, and 0 if not.`

func runWaits(c *call) error {
	var d dead
	var svg string
	var opt waits.Options
	var all, json, dot bool
	if err := d.parse(c, "core", "take a core of another build, too", []option{
		{&opt.Hang, "hang", "the program has done nothing for long"},
		{&all, "all", "say of each goroutine what it waits for"},
		{&json, "json", "print JSON, an object a goroutine, then the findings"},
		{&dot, "dot", "print the graph for Graphviz"},
		{&svg, "svg", "draw the graph into `FILE`; - is standard output"},
	}); err != nil {
		return err
	}
	p, err := d.open(&c.streams)
	if err != nil {
		return err
	}
	defer d.close(p)
	g, err := waitsIn(p, d.elf, opt)
	switch {
	case err != nil:
	case json:
		err = g.WriteJSON(c.stdout)
	case dot:
		err = g.WriteDOT(c.stdout)
	case svg != "":
		err = writeTo(svg, c.stdout, g.WriteSVG)
	default:
		err = g.WriteText(c.stdout, all)
	}
	if err == nil && len(g.Findings) > 0 {
		return status(exitTrace)
	}
	return err
}

// waitsOf finds who waits for whom in a core.
func waitsOf(elf, path string, force bool, opt waits.Options) (g *waits.Graph, err error) {
	p, err := inspect.Open(path, elf, force)
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
	return analyze(p, sym, opt, fmt.Sprintf("the core is damaged, or of another program than %s", elf))
}

// analyze finds who waits for whom. A core and a stream may hold anything, and Delve's packages
// take much of it for granted: damaged is the error then.
func analyze(p *inspect.Program, sym *symbol.File, opt waits.Options,
	damaged string) (g *waits.Graph, err error) {
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("%s (%v)", damaged, r)
		}
	}()
	return waits.Analyze(p.Target(), sym, opt)
}

// sayWaits says behind a death who waits for whom, if that is why the program did not go on. reason
// is that of the trace.
func (c *fullCore) sayWaits(reason string) {
	hang := strings.HasPrefix(reason, "watchdog:")
	g, err := waitsOf(c.elf, c.path, false, waits.Options{Hang: hang})
	if err != nil {
		if hang || strings.Contains(reason, "all goroutines are asleep") {
			c.say("note: who waits for whom is not known: %v", err)
		}
		return
	}
	for _, f := range g.Findings {
		c.say("%s", printable(f.Text))
	}
}

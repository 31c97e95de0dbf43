//go:build !lean

package main

// What the commands on a program that has died share: the ELF file and the core or log that they
// read.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeroframe/zeroframe/tools/format/input"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// dead is a program that has died, as the command line names it.
type dead struct {
	elf   string // its ELF file
	path  string // its core, or its log
	force bool   // they may be of different builds

	program *inspect.Program // of a prompt, which opens and closes it
}

const (
	elfUsage  = "the `ELF` file that was running"
	deadUsage = elfUsage + " (default: CORE.elf beside CORE, or\nhello.elf of hello.core)"
)

// parse reads the flags, -e and -force with them, and the name of one file, which may stand
// before flags; what says what that is. forced is the help of -force.
func (d *dead) parse(c *call, what, forced string, all []option) error {
	inputs, err := c.parseMixed(append(all, option{&d.elf, "e", deadUsage},
		option{&d.force, "force", forced}))
	if err != nil {
		return err
	}
	return d.of(c, what, inputs)
}

// of takes the one file that is named.
func (d *dead) of(c *call, what string, inputs []string) error {
	switch {
	case c.asks != nil && len(inputs) == 0 && d.elf == "":
		*d = *c.asks
		return nil
	case c.asks != nil:
		return fmt.Errorf("at the prompt it is about %s, no other file", c.asks.path)
	case len(inputs) != 1:
		return c.wrong("want one %s, have %d", what, len(inputs))
	}
	d.path = inputs[0]
	return d.findELF(c, what)
}

// findELF takes the ELF file that zf run -core has left beside a core, unless one is named.
func (d *dead) findELF(c *call, what string) error {
	if d.elf != "" {
		return nil
	}
	if _, err := os.Stat(d.path); err != nil && d.path != "-" {
		return err
	}
	switch isCore := inspect.IsCore(d.path); {
	case !isCore && what == "core":
		return fmt.Errorf("%s: %w; zf run -core FILE makes one", d.path, inspect.ErrNotCore)
	case !isCore:
		return c.wrong("%w", errNoELF)
	}
	if d.elf = besideCore(d.path); d.elf == "" {
		return c.wrong("%w, since there is no %s.elf", errNoELF, d.path)
	}
	return nil
}

// open opens the core, and says if nothing proves that it is of the ELF file.
func (d *dead) open(s *streams) (*inspect.Program, error) {
	if d.program != nil {
		return d.program, nil
	}
	p, err := inspect.Open(d.path, d.elf, d.force)
	if err == nil && !d.force && !p.BuildKnown() {
		s.say("the core does not say of which build it is; %s is taken for it", d.elf)
	}
	return p, err
}

// close closes what open has opened.
func (d *dead) close(p *inspect.Program) {
	if d.program == nil {
		p.Close()
	}
}

// isLog reports whether a file may be a log, since open has failed so.
func (d *dead) isLog(err error) bool { return d.path == "-" || errors.Is(err, inspect.ErrNotCore) }

// readLog reads the log at path, "-" for standard input, to its end. Its traces go where opt
// says, and its text to text, unless that is nil.
func (s *streams) readLog(ctx context.Context, path string, text io.Writer,
	opt trace.Options) error {
	in, err := input.Open(ctx, path, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never,
		Stdin: s.stdin})
	if err != nil {
		return err
	}
	defer in.Close()
	opt.Log = s.stderr
	filter, err := trace.NewFilter(nil, opt)
	if err != nil {
		return err
	}
	var to sink = filter
	if text != nil {
		to = joined{io.MultiWriter(text, filter), filter.Cut}
	}
	if err = pump(ctx, pieces(0), to, input.Text(in, nil), nil); err != nil {
		filter.Close()
		return err
	}
	return filter.Close()
}

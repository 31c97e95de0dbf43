package main

// `zf print`: variables of a program that has died.

import (
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

const printText = `Print shows variables of a program that has died, from its core file: package
variables, and with -goroutine and -frame the variables of a function call. An
expression has Go's syntax, but calls nothing.

  zf print hello.core main.config 'm["k"]' 's[3:7]' 'len(c)'
  zf print -goroutine 18 -frame 2 hello.core p.next.name
  zf print hello.core '*(*main.T)(0xc000012345)'

With a frame and no expression its arguments and local variables are listed.
Frames count from 0, the innermost; zf goroutines -t lists them all, and inlined
calls are frames of their own. Without a goroutine, a name without a package is
one of package main.

A variable that the compiler keeps nowhere at that instruction is
<optimized away>; no value is guessed. The exit status is 2 if an expression has
no meaning.`

func runPrint(c *call) error {
	var d dead
	var at inspect.Place
	var json bool
	limits := inspect.DefaultLimits
	if err := c.parse([]option{
		{&d.elf, "e", deadUsage},
		{&at.Goroutine, "goroutine", "evaluate in a frame of goroutine `N`"},
		{&at.Frame, "frame", "the frame `M`, from 0, the innermost"},
		{&limits.Elements, "n", "show `N` elements of a slice, an array or a map"},
		{&limits.Bytes, "bytes", "show `N` bytes of a string"},
		{&limits.Depth, "depth", "show what is `N` pointers or structs deep"},
		{&json, "json", "write JSON, one object a line: name, type, value (null if unknown), why"},
		{&d.force, "force", "take a core of another build, too"},
	}); err != nil {
		return err
	}
	switch {
	case c.NArg() == 0:
		return c.wrong("want a core file")
	case c.NArg() == 1 && at.Goroutine == 0:
		return c.wrong("want an expression behind the core, or -goroutine N for its variables")
	case at.Goroutine < 0 || at.Frame < 0:
		return c.wrong("goroutines count from 1, frames from 0")
	case at.Goroutine == 0 && at.Frame != 0:
		return c.wrong("-frame is one of a goroutine: give -goroutine N, too")
	case limits.Elements < 0 || limits.Bytes < 0 || limits.Depth < 0:
		return c.wrong("-n, -bytes and -depth are 0 or more")
	}
	d.path = c.Arg(0)
	if err := d.findELF(c, "core"); err != nil {
		return err
	}
	p, err := d.open(&c.streams)
	if err != nil {
		return err
	}
	defer p.Close()
	if c.NArg() == 1 {
		return printAll(c, p, at, limits, json)
	}
	for _, e := range c.Args()[1:] {
		v, everr := p.Eval(e, at, limits)
		if everr == nil && json {
			everr = inspect.WriteValues(c.stdout, []inspect.Value{v})
		} else if everr == nil {
			everr = v.Write(c.stdout)
		}
		if everr != nil {
			c.fail(everr)
			err = status(exitUsage)
		}
	}
	return err
}

// printAll lists the variables of a frame.
func printAll(c *call, p *inspect.Program, at inspect.Place, limits inspect.Limits,
	json bool) error {
	all, err := p.Variables(at, limits)
	if err != nil {
		return err
	}
	if json {
		return inspect.WriteValues(c.stdout, all)
	}
	where, err := p.Where(at)
	if err != nil {
		return err
	}
	return inspect.WriteVariables(c.stdout, where, all)
}

//go:build !lean

package main

// `zf print`: variables of a program that has died.

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

const printText = `Print shows variables of a program that has died, from its core file: package
variables, and with -goroutine and -frame the variables of a function call. An
expression has Go's syntax, but calls nothing.

  zf print hello.core main.config 'm["k"]' 's[3:7]' 'len(c)'
  zf print -goroutine 18 -frame 2 hello.core p.next.name
  zf print hello.core '*(*main.T)(0xc000012345)'

With a frame and no expression its arguments and local variables are listed.
With the core alone there is a prompt, for many questions to one core: help
lists them, and TAB completes commands, variables and fields. From a file or a
pipe on standard input it takes the same commands, one a line, # begins a
comment, and a line that fails is said and does not end the others:

  zf print hello.core
  zf print hello.core < questions

Frames count from 0, the innermost; zf goroutines has their numbers, and inlined
calls are frames of their own. Without a goroutine, a name without a package is
one of package main.

A variable that the compiler keeps nowhere at that instruction is
<optimized away>; no value is guessed. The exit status is 2 if an expression has
no meaning, or a line of standard input fails.`

// values is how the values of a dead program are shown.
type values struct {
	stdout  io.Writer
	program *inspect.Program
	limits  inspect.Limits
	json    bool
}

func runPrint(c *call) error {
	var d dead
	var at inspect.Place
	var sources []source.Remap
	show := values{stdout: c.stdout, limits: inspect.DefaultLimits}
	limits := &show.limits
	if err := c.parse([]option{
		{&d.elf, "e", deadUsage},
		{&at.Goroutine, "goroutine", "evaluate in a frame of goroutine `N`"},
		{&at.Frame, "frame", "the frame `M`, from 0, the innermost"},
		{&limits.Elements, "n", "show `N` elements of a slice, an array or a map"},
		{&limits.Bytes, "bytes", "show `N` bytes of a string"},
		{&limits.Depth, "depth", "show what is `N` pointers or structs deep"},
		{&show.json, "json", "write JSON, one object a line: name, type, value (null if unknown), why"},
		{remapping(&sources), "source",
			"of the prompt: look for sources named under OLD under NEW: `OLD=NEW`;\nmay be given many times"},
		{&d.force, "force", "take a core of another build, too"},
	}); err != nil {
		return err
	}
	switch {
	case c.NArg() == 0:
		return c.wrong("want a core file")
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
	show.program = p
	switch {
	case c.NArg() == 1 && at.Goroutine == 0:
		return newPrompt(c, &show, d, source.New("", sources)).run()
	case c.NArg() == 1:
		return show.frame(at, func(*inspect.Value) bool { return true })
	}
	for _, e := range c.Args()[1:] {
		if everr := show.one(e, at); everr != nil {
			c.fail(nearName(everr))
			err = status(exitUsage)
		}
	}
	return err
}

// one shows the value of an expression.
func (s *values) one(expr string, at inspect.Place) error {
	v, err := s.program.Eval(expr, at, s.limits)
	switch {
	case err != nil:
		return err
	case s.json:
		return inspect.WriteJSON(s.stdout, []inspect.Value{v})
	}
	return v.Write(s.stdout)
}

// frame lists those variables of a frame that are wanted.
func (s *values) frame(at inspect.Place, want func(*inspect.Value) bool) error {
	all, err := s.program.Variables(at, s.limits)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(v inspect.Value) bool { return !want(&v) })
	if s.json {
		return inspect.WriteJSON(s.stdout, all)
	}
	where, err := s.program.Where(at)
	if err != nil {
		return err
	}
	return inspect.WriteVariables(s.stdout, where, all)
}

// nearName adds to the error of a name that means nothing one that is nearly the same. more are
// words that may have been meant, too.
func nearName(err error, more ...string) error {
	if wrong := (*inspect.NoName)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%w%s", err, meant(wrong.Name, "", append(wrong.Known, more...)))
	}
	return err
}

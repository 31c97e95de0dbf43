//go:build !lean

package main

// `zf core`: a trace in a log, or a machine -> an ELF core file, for a debugger.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/postmortem/core"
)

const coreText = `Core makes a core file of a trace in LOG, so that gdb can look at a kernel that
died elsewhere: registers, stack, callers. LOG is what the kernel sent, or what
zf symbolize or zf run made of it; - is standard input.

  zf core -e hello.elf serial.log      writes hello.core
  gdb hello.elf hello.core             then bt, info registers, x/8gx $rsp, list

A trace of more than one stack has a thread for each side of a boundary, such
as an interrupt and what it interrupted: "info threads", "thread apply all bt".
What gdb shows behind a boundary (trapEntry, systemstack) is a guess; the next
thread goes on there. Behind a death the other CPUs have threads, too. A trace
that a call asked for, as a panic does, stands at the call instruction.

A core has no memory but what the trace carries. The kernel's option
trace.stack=8192 makes it carry that many bytes of each stack. Variables are not
in it, and gdb says so. A register that the trace does not tell of is 0.

Of several traces the last that ended the kernel is taken, and they are listed.

A full core is of all memory, so that Delve has every goroutine and variable:

  zf run -core hello.core hello.elf      of a machine that dies in zf run
  zf core -e hello.elf -qmp SOCKET       of one in a QEMU that was started with
                                         -qmp unix:SOCKET,server=on,wait=off
  zf core -e hello.elf -dump FILE        of what QEMU's dump-guest-memory has
                                         written, or RAM as it is (pmemsave)
  zf core -e hello.elf -gdb HOST:PORT    of one behind a gdb stub
  dlv core hello.elf hello.core          then goroutines, frame 3, locals

It has a thread for each CPU that was in the kernel, numbered from 10000, and
one for each of the kernel's threads that run goroutines. The first one stands
where the machine has died. The file is sparse. It holds what the machine held,
secrets too.`

// coreFlags are the flags of zf core.
type coreFlags struct {
	elf, output, input string
	number             int
	force              bool
	qmp, dump, gdb     string // of what a full core is made
}

// full reports whether a full core is wanted.
func (f *coreFlags) full() bool { return f.qmp != "" || f.dump != "" || f.gdb != "" }

func runCore(c *call) error {
	var f coreFlags
	if err := f.parse(c); err != nil {
		return err
	}
	sym, err := openSymbols(f.elf)
	if err != nil {
		return err
	}
	defer sym.Close()
	ctx := c.interruptible()
	full := &fullCore{streams: c.streams, path: f.output, elf: f.elf, sym: sym, force: f.force}
	switch {
	case f.qmp != "":
		return full.ofMonitor(ctx, f.qmp)
	case f.dump != "":
		return full.ofFile(f.dump)
	case f.gdb != "":
		return full.ofStub(ctx, f.gdb)
	}
	t := chosenTrace{number: f.number}
	if err := c.readLog(ctx, f.input, nil, trace.Options{Symbols: sym, Force: f.force,
		OnTrace: t.take}); err != nil {
		return err
	}
	switch {
	case t.n == 0:
		return fmt.Errorf("no trace in %s; zf symbolize shows what it has", f.input)
	case t.chosen == nil:
		return fmt.Errorf("-n %d: %s has %d; they are\n%s", f.number, f.input, t.n,
			strings.TrimSuffix(t.list.String(), "\n"))
	case !f.force && !sameBuild(t.chosen.BuildID, sym.BuildID()):
		return status(exitUsage) // the filter has said it
	}
	var info core.Info
	err = whole.File(f.output, 0o666, func(to *os.File) (err error) {
		info, err = core.Write(to, t.chosen, t.others, f.elf, sym)
		return err
	})
	if err != nil {
		return err
	}
	t.say(&c.streams)
	c.say("wrote %s: %s, %s of memory; look at it with: gdb %s %[1]s",
		f.output, count(info.Threads, "thread"), count(info.Words, "word"), f.elf)
	if len(info.CPUs) > 1 {
		for _, cpu := range info.CPUs {
			c.say("CPU %d is %s", cpu.Number, threadNumbers(cpu))
		}
	}
	if info.Call {
		c.say("thread 1 stands at the call that asked for the trace, %#x", info.Address)
	}
	if t.chosen.Damaged {
		c.say("the trace is damaged: %s", printable(t.chosen.Damage))
	}
	return nil
}

// maxListed is how many traces are listed.
const maxListed = 100

// chosenTrace is the trace of a log of any length that a core is made of: the others are not kept.
type chosenTrace struct {
	number int // which one the user wants; 0: the last that ended the kernel

	chosen *wire.Trace
	others []*wire.Trace // of other CPUs, in the same death
	n, at  int           // how many there were; which one is chosen
	list   strings.Builder
}

// take takes the next trace of the log.
func (c *chosenTrace) take(t *wire.Trace) {
	if len(t.Frames) == 0 && len(t.Registers) == 0 {
		return
	}
	c.n++
	with := c.chosen != nil && t.Of != 0 && c.chosen.Of == 0 && t.Of == c.chosen.Seq &&
		t.BuildID == c.chosen.BuildID && t.Previous == c.chosen.Previous
	switch {
	case with && c.n != c.number:
		c.others = append(c.others, t)
	case c.number != 0 && c.n != c.number:
	case c.number == 0 && c.chosen != nil && c.chosen.Fatal() && !t.Fatal():
	default:
		c.chosen, c.others, c.at = t, nil, c.n
	}
	if c.n <= maxListed {
		fmt.Fprintf(&c.list, "  %2d %s\n", c.n, coreLine(t))
	}
}

// say says which one was taken, if there were several.
func (c *chosenTrace) say(s *streams) {
	if c.n < 2 {
		return
	}
	if c.n > maxListed {
		fmt.Fprintf(&c.list, "  and %d more\n", c.n-maxListed)
	}
	why := ""
	switch {
	case c.number != 0:
	case c.chosen.Fatal():
		why = ", the last one that ended the kernel"
	default:
		why = ", the last one"
	}
	s.say("took trace %d%s; -n N takes another of\n%s", c.at, why,
		strings.TrimSuffix(c.list.String(), "\n"))
}

// threadNumbers is "thread 3", or "threads 3 to 5".
func threadNumbers(c core.CPU) string {
	if c.First == c.Last {
		return fmt.Sprintf("thread %d", c.First)
	}
	return fmt.Sprintf("threads %d to %d", c.First, c.Last)
}

// sameBuild reports whether a trace with that build ID, which may be only the beginning
// of one, is of the image with that other.
func sameBuild(trace, image string) bool {
	return strings.HasPrefix(image, trace) && (trace != "" || image == "")
}

// coreLine is one trace in the list.
func coreLine(t *wire.Trace) string {
	kind := t.Kind
	if kind == "" {
		kind = "?"
	}
	s := fmt.Sprintf("%-6s %s, %s: %s", printable(kind), count(len(t.Frames), "frame"),
		count(len(t.Words), "word"), printable(t.Reason))
	if t.Damaged {
		s += " (" + printable(t.Damage) + ")"
	}
	if r := []rune(s); len(r) > columns-5 {
		s = string(r[:columns-8]) + "..."
	}
	return s
}

// parse reads the arguments; flags may follow the log's name.
func (f *coreFlags) parse(c *call) error {
	inputs, err := c.parseMixed([]option{
		{&f.elf, "e", elfUsage},
		{&f.output, "o", "write the core to `FILE` (default: the ELF's name, with .core)"},
		{&f.number, "n", "take trace `N` of the log, from 1"},
		{&f.force, "force", "take a trace, or the memory, of another or an unknown build, too"},
		{&f.qmp, "qmp", "make a full core of the machine whose QEMU has its monitor at `SOCKET`"},
		{&f.dump, "dump", "make a full core of the memory in `FILE`"},
		{&f.gdb, "gdb", "make a full core of the machine whose gdb stub is at `HOST:PORT`"},
	})
	switch {
	case err != nil:
		return err
	case f.elf == "":
		return c.wrong("%w", errNoELF)
	case f.full() && len(inputs) > 0:
		return c.wrong("a full core is of a machine, not of %s", inputs[0])
	case f.qmp != "" && f.dump+f.gdb != "" || f.dump != "" && f.gdb != "":
		return c.wrong("want one of -qmp, -dump, -gdb")
	case f.full() && f.number != 0:
		return c.wrong("-n is for a log")
	case f.full():
	case len(inputs) != 1:
		return c.wrong("want one log, have %d; - is standard input", len(inputs))
	case f.number < 0:
		return c.wrong("-n %d: traces count from 1", f.number)
	default:
		f.input = inputs[0]
	}
	if f.output == "" {
		f.output = strings.TrimSuffix(filepath.Base(f.elf), ".elf") + ".core"
	}
	if samePath(f.output, f.elf) || samePath(f.output, f.input) || samePath(f.output, f.dump) {
		return c.wrong("-o %s would overwrite what is read", f.output)
	}
	return nil
}
